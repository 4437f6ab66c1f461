package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// podToCreate returns the Pod that the request creates, or nil.
func podToCreate(a *Attributes) *corev1.Pod {
	if a.Operation != Create || a.Subresource != "" {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}

// podToUpdate returns the Pod that the request replaces, and the one before, or nil.
func podToUpdate(a *Attributes) (pod, old *corev1.Pod) {
	if a.Operation != Update || a.Subresource != "" {
		return nil, nil
	}
	pod, _ = a.Object.(*corev1.Pod)
	old, _ = a.Old.(*corev1.Pod)
	if pod == nil || old == nil {
		return nil, nil
	}
	return pod, old
}

// DefaultTolerationSeconds lets every Pod stay for a limited time on a node that is not
// ready or unreachable.
type DefaultTolerationSeconds struct {
	// Seconds is that time; upstream's default is 300.
	Seconds int64
}

// Mutate implements Mutator.
func (p DefaultTolerationSeconds) Mutate(_ context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil {
		pod, _ = podToUpdate(a)
	}
	if pod == nil {
		return nil
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !toleratesNoExecute(pod.Spec.Tolerations, key) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &p.Seconds,
			})
		}
	}
	return nil
}

func toleratesNoExecute(tolerations []corev1.Toleration, key string) bool {
	for _, t := range tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// Priority sets the priority of a Pod or a PodGroup from its priority class.
type Priority struct {
	// Get returns a class or a NotFound error; Default returns the global default class
	// or nil.
	Get     func(ctx context.Context, name string) (*schedulingv1.PriorityClass, error)
	Default func(ctx context.Context) (*schedulingv1.PriorityClass, error)
}

// Mutate implements Mutator. An update that omits what a create has set keeps it, so that a
// manifest can be sent again.
func (p Priority) Mutate(ctx context.Context, a *Attributes) error {
	if pod, old := podToUpdate(a); pod != nil {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	if group, ok := a.Object.(*schedulingv1beta1.PodGroup); ok && a.Operation == Create && a.Subresource == "" {
		return p.mutateGroup(ctx, a, group)
	}
	pod := podToCreate(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod.Name, pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	priority, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		pod.Spec.PriorityClassName, priority = class.Name, class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != priority {
		return apierrors.NewForbidden(a.Resource.GroupResource(), pod.Name, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, priority))
	}
	pod.Spec.Priority = &priority
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = &policy
	}
	return nil
}

// mutateGroup sets the priority of a new PodGroup.
func (p Priority) mutateGroup(ctx context.Context, a *Attributes, group *schedulingv1beta1.PodGroup) error {
	class, err := p.classOf(ctx, a, group.Name, group.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	priority := int32(0)
	if class != nil {
		group.Spec.PriorityClassName, priority = class.Name, class.Value
	}
	if asked := group.Spec.Priority; asked != nil && *asked != priority {
		return apierrors.NewForbidden(a.Resource.GroupResource(), group.Name, fmt.Errorf("priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", *asked, priority))
	}
	group.Spec.Priority = &priority
	return nil
}

// classOf returns the priority class of the given name for a new object, or the default one; nil: none.
func (p Priority) classOf(ctx context.Context, a *Attributes, object, name string) (*schedulingv1.PriorityClass, error) {
	if name == "" {
		return p.Default(ctx)
	}
	class, err := p.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewForbidden(a.Resource.GroupResource(), object, fmt.Errorf("no PriorityClass with name %s was found", name))
	}
	return class, err
}
