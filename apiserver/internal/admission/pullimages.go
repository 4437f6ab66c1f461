package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AlwaysPullImages makes every container and image volume of new pods pull its image, and
// so do updates of pods with images that the pod did not have.
type AlwaysPullImages struct{}

// Mutate implements Mutator.
func (AlwaysPullImages) Mutate(_ context.Context, a *Attributes) error {
	pod := podWithNewImages(a)
	if pod == nil {
		return nil
	}
	for policy := range pullPolicies(pod) {
		*policy = corev1.PullAlways
	}
	return nil
}

// Check implements Checker: no later plugin may have changed a policy.
func (AlwaysPullImages) Check(_ context.Context, a *Attributes) error {
	pod := podWithNewImages(a)
	if pod == nil {
		return nil
	}
	var errs []error
	for policy, path := range pullPolicies(pod) {
		if *policy != corev1.PullAlways {
			errs = append(errs, denied(a, field.NotSupported(path(), *policy, []string{string(corev1.PullAlways)})))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// podWithNewImages returns the pod that a write creates, or to which it adds images; nil
// for other writes.
func podWithNewImages(a *Attributes) *corev1.Pod {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "" {
		return nil
	}
	if a.Operation == Create {
		return pod
	}
	old, ok := a.Old.(*corev1.Pod)
	if a.Operation != Update || !ok {
		return nil
	}
	had := sets.New[string]()
	for c := range containers(old) {
		had.Insert(*c.image)
	}
	for c := range containers(pod) {
		if !had.Has(*c.image) {
			return pod
		}
	}
	return nil
}
