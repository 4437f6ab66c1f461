package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RuntimeClass sets a Pod's overhead and scheduling constraints from its runtime class,
// which must exist (KEP-585, KEP-688).
type RuntimeClass struct {
	// Get returns a class or a NotFound error.
	Get func(ctx context.Context, name string) (*nodev1.RuntimeClass, error)
}

// Mutate implements Mutator.
func (p RuntimeClass) Mutate(ctx context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if err != nil || class == nil {
		return err
	}
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return denied(a, errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
		pod.Spec.Overhead = class.Overhead.DeepCopy().PodFixed
	}
	if class.Scheduling != nil {
		return constrain(a, pod, class.Scheduling)
	}
	return nil
}

// Check implements Checker: no later plugin may have changed the overhead.
func (p RuntimeClass) Check(ctx context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil || pod.Spec.RuntimeClassName == nil && pod.Spec.Overhead == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	switch {
	case err != nil:
		return err
	case class != nil && class.Overhead != nil:
		if !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return denied(a, errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
	case pod.Spec.Overhead != nil:
		return denied(a, errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
	}
	return nil
}

func (p RuntimeClass) classOf(ctx context.Context, a *Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	class, err := p.Get(ctx, *pod.Spec.RuntimeClassName)
	if apierrors.IsNotFound(err) {
		return nil, denied(a, fmt.Errorf("pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName))
	}
	return class, err
}

// constrain adds a class's node selector and tolerations to the pod's.
func constrain(a *Attributes, pod *corev1.Pod, s *nodev1.Scheduling) error {
	for _, key := range slices.Sorted(maps.Keys(s.NodeSelector)) {
		wanted := s.NodeSelector[key]
		if has, ok := pod.Spec.NodeSelector[key]; ok && has != wanted {
			return denied(a, fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, wanted, key, has))
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = wanted
	}
	for _, t := range s.Tolerations {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(has corev1.Toleration) bool { return equality.Semantic.DeepEqual(has, t) }) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

// denied returns the error with which a plugin rejects a write.
func denied(a *Attributes, why error) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, why)
}
