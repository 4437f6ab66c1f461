package resources

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// bindingRow is the older resource for creating a pods/binding.
func bindingRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Binding"),
		Plural:           "bindings",
		Namespaced:       true,
		Verbs:            []string{"create"},
		Create:           createOf(corev1.SchemeGroupVersion.WithResource("pods"), "binding"),
		New:              func() runtime.Object { return &corev1.Binding{} },
		NewList:          func() runtime.Object { return &corev1.Binding{} },
	}
}

func podBinding() Subresource {
	return Subresource{
		Name:             "binding",
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Binding"),
		Verbs:            []string{"create"},
		NamesParent:      true,
		New:              func() runtime.Object { return &corev1.Binding{} },
		UpdateAt:         writeIntoAt(bindPod),
		Replaces:         true,
	}
}

// bindPod assigns a pod to the binding's node. It replaces the maps and lists that it changes.
func bindPod(pod *corev1.Pod, binding *corev1.Binding, now time.Time) error {
	if errs := validation.Binding(binding); len(errs) > 0 {
		return unclassified(errs)
	}
	if err := boundAs(pod, binding); err != nil {
		return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: %w", pod.Namespace, pod.Name, err))
	}
	if err := bindable(pod); err != nil {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), pod.Name, err)
	}
	pod.Spec.NodeName = binding.Target.Name
	// A nomination is obsolete once the pod has a node (KEP-5278).
	pod.Status.NominatedNodeName = ""
	pod.Annotations = merged(pod.Annotations, binding.Annotations, true)
	pod.Labels = merged(pod.Labels, binding.Labels, false)
	setPodCondition(&pod.Status, corev1.PodCondition{
		Type:   corev1.PodScheduled,
		Status: corev1.ConditionTrue,
	}, now)
	return nil
}

// boundAs reports whether the pod is the one, and as it was, that the binding names.
func boundAs(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return uidMismatch(binding.UID, pod.UID)
	case binding.ResourceVersion != "" && binding.ResourceVersion != pod.ResourceVersion:
		return preconditionError{field: "ResourceVersion", wanted: binding.ResourceVersion, actual: pod.ResourceVersion}
	}
	return nil
}

func bindable(pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	return nil
}

// merged returns the entries of base and of more; overwrite applies to keys in both. Neither is modified.
func merged(base, more map[string]string, overwrite bool) map[string]string {
	if len(more) == 0 {
		return base
	}
	all := make(map[string]string, len(base)+len(more))
	maps.Copy(all, base)
	for k, v := range more {
		if _, present := base[k]; !present || overwrite {
			all[k] = v
		}
	}
	return all
}

// setPodCondition sets a condition in a new list; the transition time changes only if the status
// does.
func setPodCondition(status *corev1.PodStatus, condition corev1.PodCondition, now time.Time) {
	condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		status.Conditions = append(slices.Clip(status.Conditions), condition)
		return
	}
	if old := status.Conditions[i]; old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	status.Conditions = slices.Clone(status.Conditions)
	status.Conditions[i] = condition
}
