package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// EphemeralContainers requires that containers still has all of old, unchanged (KEP-277).
func EphemeralContainers(containers, old []corev1.EphemeralContainer) field.ErrorList {
	p := field.NewPath("spec", "ephemeralContainers")
	byName := make(map[string]*corev1.EphemeralContainer, len(containers))
	for i := range containers {
		byName[containers[i].Name] = &containers[i]
	}
	var errs field.ErrorList
	for i := range old {
		switch kept := byName[old[i].Name]; {
		case kept == nil:
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", old[i].Name)))
		case !apiequality.Semantic.DeepEqual(*kept, old[i]):
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be changed\n", old[i].Name)))
		}
	}
	return errs
}
