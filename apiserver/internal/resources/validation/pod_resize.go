package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubectl/pkg/util/qos"
)

// TakeResized copies the resources and resize policies of containers from sent, which has the
// same containers.
func TakeResized(containers, sent []corev1.Container) {
	for i := range containers {
		containers[i].Resources, containers[i].ResizePolicy = sent[i].Resources, sent[i].ResizePolicy
	}
}

// PodResize returns upstream's errors for a resize (its ValidatePodResize), except the errors
// that apply to every pod.
func PodResize(old, sent *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	switch {
	case old.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := keptContainers(p.Child("containers"), sent.Spec.Containers, old.Spec.Containers)
	errs = append(errs, keptContainers(p.Child("initContainers"), sent.Spec.InitContainers, old.Spec.InitContainers)...)
	if len(errs) > 0 {
		return errs
	}
	resized := old.DeepCopy()
	TakeResized(resized.Spec.Containers, sent.Spec.Containers)
	TakeResized(resized.Spec.InitContainers, sent.Spec.InitContainers)
	if class := qos.ComputePodQOS(resized); class != qosOf(old) {
		errs = append(errs, field.Invalid(p, old.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	}
	if !reportsResources(old) {
		errs = append(errs, field.Forbidden(p, "Pod running on node without support for resize"))
	}
	for i := range old.Spec.InitContainers {
		before, after := &old.Spec.InitContainers[i], &sent.Spec.InitContainers[i]
		if before.RestartPolicy == nil || *before.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			if !apiequality.Semantic.DeepEqual(before.Resources, after.Resources) || !apiequality.Semantic.DeepEqual(before.ResizePolicy, after.ResizePolicy) {
				errs = append(errs, field.Forbidden(p, "resources for non-sidecar init containers are immutable"))
			}
			continue
		}
		at := p.Child("initContainers").Index(i)
		errs = append(errs, keptResources(at.Child("resources"), &after.Resources, &before.Resources)...)
		if otherResourcesChange(after, before) {
			errs = append(errs, field.Forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable"))
		}
	}
	for i := range old.Spec.Containers {
		before, after := &old.Spec.Containers[i], &sent.Spec.Containers[i]
		errs = append(errs, keptResources(p.Child("containers").Index(i).Child("resources"), &after.Resources, &before.Resources)...)
		if otherResourcesChange(after, before) {
			errs = append(errs, field.Forbidden(p, "only cpu and memory resources are mutable"))
		}
	}
	return errs
}

// qosOf returns the class that the pod got when it was created.
func qosOf(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return qos.ComputePodQOS(pod)
}

func keptContainers(p *field.Path, sent, old []corev1.Container) field.ErrorList {
	list := "containers"
	if p.String() == "spec.initContainers" {
		list = "initContainers"
	}
	if len(sent) != len(old) {
		return field.ErrorList{field.Forbidden(p, list+" may not be added or removed on resize")}
	}
	var errs field.ErrorList
	for i := range old {
		if sent[i].Name != old[i].Name {
			errs = append(errs, field.Forbidden(p.Index(i).Child("name"), list+" may not be renamed or reordered on resize"))
		}
	}
	return errs
}

// reportsResources reports whether the pod's kubelet, if a container runs, includes the
// container's resources in its status: other kubelets cannot resize.
func reportsResources(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.State.Running != nil {
			return status.Resources != nil
		}
	}
	return true
}

// keptResources rejects the removal of a request or a limit.
func keptResources(p *field.Path, resources, old *corev1.ResourceRequirements) field.ErrorList {
	var errs field.ErrorList
	for _, part := range []struct {
		name       string
		list, kept corev1.ResourceList
	}{{"requests", resources.Requests, old.Requests}, {"limits", resources.Limits, old.Limits}} {
		for name := range part.kept {
			if _, ok := part.list[name]; !ok {
				errs = append(errs, field.Forbidden(p.Child(part.name), fmt.Sprintf("resource %s cannot be removed", part.name)))
				break
			}
		}
	}
	return errs
}

// otherResourcesChange reports whether anything but CPU and memory would change.
func otherResourcesChange(sent, old *corev1.Container) bool {
	fixed := func(list corev1.ResourceList) corev1.ResourceList {
		list = list.DeepCopy()
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
		return list
	}
	return !apiequality.Semantic.DeepEqual(fixed(sent.Resources.Requests), fixed(old.Resources.Requests)) ||
		!apiequality.Semantic.DeepEqual(fixed(sent.Resources.Limits), fixed(old.Resources.Limits)) ||
		!apiequality.Semantic.DeepEqual(sent.Resources.Claims, old.Resources.Claims) ||
		!apiequality.Semantic.DeepEqual(sent.ResizePolicy, old.ResizePolicy)
}

// validateResizePolicy validates the resize policies of a container.
func validateResizePolicy(p *field.Path, policies []corev1.ContainerResizePolicy, restart corev1.RestartPolicy) field.ErrorList {
	var errs field.ErrorList
	var seen []corev1.ResourceName
	for i, policy := range policies {
		if slices.Contains(seen, policy.ResourceName) {
			errs = append(errs, field.Duplicate(p.Index(i), policy.ResourceName))
		}
		seen = append(seen, policy.ResourceName)
		switch policy.ResourceName {
		case corev1.ResourceCPU, corev1.ResourceMemory:
		case "":
			errs = append(errs, field.Required(p, ""))
		default:
			errs = append(errs, field.NotSupported(p, policy.ResourceName, []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}))
		}
		switch policy.RestartPolicy {
		case corev1.NotRequired, corev1.RestartContainer:
		case "":
			errs = append(errs, field.Required(p, ""))
		default:
			errs = append(errs, field.NotSupported(p, policy.RestartPolicy, []corev1.ResourceResizeRestartPolicy{corev1.NotRequired, corev1.RestartContainer}))
		}
		if restart == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(p, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}
