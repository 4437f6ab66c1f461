package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/util/qos"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/internal/resourcename"
)

// The annotations of a namespace that PodTolerationRestriction reads.
const (
	defaultTolerations = "scheduler.alpha.kubernetes.io/defaultTolerations"
	allowedTolerations = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// TolerationConfig is the configuration of PodTolerationRestriction, for namespaces without
// annotations (podtolerationrestriction.admission.k8s.io/v1alpha1, kind Configuration).
type TolerationConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Default is added to new pods.
	Default []corev1.Toleration `json:"default,omitempty"`
	// Whitelist limits the tolerations of pods; empty: it does not.
	Whitelist []corev1.Toleration `json:"whitelist,omitempty"`
}

// PodTolerationRestriction adds the default tolerations of a namespace to its new pods, and
// rejects pods with other tolerations than the namespace allows.
type PodTolerationRestriction struct {
	// Get returns a namespace, as new as the store's, or a NotFound error.
	Get    func(ctx context.Context, name string) (*corev1.Namespace, error)
	Config TolerationConfig
}

// NewPodTolerationRestriction returns the plugin with the configuration in a YAML
// document, which may be empty.
func NewPodTolerationRestriction(config []byte, get func(ctx context.Context, name string) (*corev1.Namespace, error)) (*PodTolerationRestriction, error) {
	p := &PodTolerationRestriction{Get: get}
	if err := decodeConfig(config, "podtolerationrestriction.admission.k8s.io/v1alpha1", "Configuration", &p.Config); err != nil {
		return nil, err
	}
	if errs := validation.Tolerations("podtolerationrestriction.default", p.Config.Default); len(errs) > 0 {
		return nil, fmt.Errorf("invalid config: %w", errs.ToAggregate())
	}
	if errs := validation.Tolerations("podtolerationrestriction.whitelist", p.Config.Whitelist); len(errs) > 0 {
		return nil, fmt.Errorf("invalid config: %w", errs.ToAggregate())
	}
	return p, nil
}

// Mutate implements Mutator.
func (p *PodTolerationRestriction) Mutate(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "" || a.Operation == Connect {
		return nil
	}
	namespace, err := p.Get(ctx, a.Namespace)
	if err != nil {
		return err
	}
	var more []corev1.Toleration
	if a.Operation == Create {
		if more, err = tolerationsIn(namespace, defaultTolerations); err != nil {
			return err
		}
		if more == nil {
			more = slices.Clone(p.Config.Default)
		}
	}
	if qos.ComputePodQOS(pod) != corev1.PodQOSBestEffort {
		more = append(more, corev1.Toleration{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	if len(more) > 0 {
		pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, more)
	}
	return p.Check(ctx, a)
}

// Check implements Checker.
func (p *PodTolerationRestriction) Check(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "" || a.Operation == Connect || len(pod.Spec.Tolerations) == 0 {
		return nil
	}
	namespace, err := p.Get(ctx, a.Namespace)
	if err != nil {
		return err
	}
	allowed, err := tolerationsIn(namespace, allowedTolerations)
	if err != nil {
		return err
	}
	scope := "namespace"
	if allowed == nil {
		allowed, scope = p.Config.Whitelist, "cluster"
	}
	if len(allowed) > 0 && !allIncluded(pod.Spec.Tolerations, allowed) {
		return fmt.Errorf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope)
	}
	return nil
}

// tolerationsIn returns the tolerations in an annotation: nil without the annotation, and
// none if it is empty.
func tolerationsIn(namespace *corev1.Namespace, annotation string) ([]corev1.Toleration, error) {
	text, ok := namespace.Annotations[annotation]
	if !ok {
		return nil, nil
	}
	tolerations := []corev1.Toleration{}
	if text == "" {
		return tolerations, nil
	}
	err := json.Unmarshal([]byte(text), &tolerations)
	return tolerations, err
}

// ExtendedResourceToleration lets pods that request extended resources, such as GPUs,
// tolerate taints with the names of these resources.
type ExtendedResourceToleration struct{}

// Mutate implements Mutator.
func (ExtendedResourceToleration) Mutate(_ context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "" {
		return nil
	}
	extended := map[corev1.ResourceName]bool{}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for name := range list[i].Resources.Requests {
				if resourcename.IsExtended(name) {
					extended[name] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extended)) {
		tolerate(pod, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return nil
}
