package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func RuntimeClass(c *nodev1.RuntimeClass) field.ErrorList {
	errs := requiredOr(field.NewPath("handler"), c.Handler, isDNSLabel)
	if c.Overhead != nil {
		p := field.NewPath("overhead", "podFixed")
		for _, name := range sortedNames(c.Overhead.PodFixed) {
			errs = append(errs, validateContainerResource(p.Key(string(name)), name, c.Overhead.PodFixed[name])...)
		}
	}
	if s := c.Scheduling; s != nil {
		p := field.NewPath("scheduling")
		errs = append(errs, metav1validation.ValidateLabels(s.NodeSelector, p.Child("nodeSelector"))...)
		errs = append(errs, validateTolerations(p.Child("tolerations"), s.Tolerations)...)
		for i := range s.Tolerations {
			if slices.ContainsFunc(s.Tolerations[:i], func(t corev1.Toleration) bool { return apiequality.Semantic.DeepEqual(t, s.Tolerations[i]) }) {
				errs = append(errs, field.Duplicate(p.Child("tolerations").Index(i), s.Tolerations[i]))
			}
		}
	}
	return errs
}

func RuntimeClassUpdate(c, old *nodev1.RuntimeClass) field.ErrorList {
	return immutable(field.NewPath("handler"), c.Handler, old.Handler)
}
