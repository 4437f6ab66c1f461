package resources

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubectl/pkg/util/qos"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
	"minikcm.dev/minikcm/apiserver/internal/resources/warnings"
)

func podRow() *Resource {
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	newPod := func() runtime.Object { return &corev1.Pod{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "pods",
		ShortNames:       []string{"po"},
		Categories:       []string{"all"},
		Namespaced:       true,
		New:              newPod,
		NewList:          func() runtime.Object { return &corev1.PodList{} },
		SelectableFields: []string{
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
		},
		FieldAliases: map[string]string{"spec.host": "spec.nodeName"},
		Field:        fieldOf(podField),
		Strategy: Strategy{
			ReturnDeleted:        true,
			StatusKeeps:          []string{"metadata.deletionTimestamp", "metadata.ownerReferences"},
			Default:              on(defaultPod),
			PrepareCreate:        on(preparePod),
			PrepareUpdate:        onUpdate(keepPodLevelResources),
			PrepareStatusUpdate:  onUpdate(preparePodStatus),
			Generation:           true,
			Warnings:             warn(warnings.Pod),
			Validate:             check(validation.Pod),
			ValidateUpdate:       checkUpdate(validation.PodUpdate),
			ValidateStatusUpdate: checkUpdate(validation.PodStatus),
			NameCheck:            apivalidation.NameIsDNSSubdomain,
			GracePeriod:          podGracePeriod,
		},
		Subresources: append([]Subresource{
			podBinding(),
			{
				Name:             "ephemeralcontainers",
				GroupVersionKind: kind,
				NoTable:          true,
				Verbs:            StatusVerbs,
				New:              newPod,
				Get:              func(parent runtime.Object) (runtime.Object, error) { return parent, nil },
				Update:           writeInto(setEphemeralContainers),
			},
			podEviction(),
			podLog(),
			proxy("PodProxyOptions", serve(Request.ServeProxyToPod)),
			podResize(),
			statusOf(kind, newPod),
		}, streams()...),
	}
}

func podField(pod *corev1.Pod, label string) string {
	switch label {
	case "spec.nodeName":
		return pod.Spec.NodeName
	case "spec.restartPolicy":
		return string(pod.Spec.RestartPolicy)
	case "spec.schedulerName":
		return pod.Spec.SchedulerName
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName
	case "spec.hostNetwork":
		return boolField(pod.Spec.HostNetwork)
	case "status.phase":
		return string(pod.Status.Phase)
	case "status.podIP":
		return pod.Status.PodIP
	case "status.podIPs":
		return "" // as upstream, which accepts the label and has no value for it
	case "status.nominatedNodeName":
		return pod.Status.NominatedNodeName
	}
	return ""
}

// preparePod completes the pod-level resources of a new pod, sets its initial status, and resolves
// the parts of its spec that refer to its own labels.
func preparePod(pod *corev1.Pod) {
	defaultPodLevelResources(pod)
	pod.Status = corev1.PodStatus{
		Phase:    corev1.PodPending,
		QOSClass: qos.ComputePodQOS(pod),
	}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type:    corev1.PodScheduled,
			Status:  corev1.ConditionFalse,
			Reason:  corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	resolveLabelKeys(pod)
}

// preparePodStatus restores fields that a client has left out because it does not know them.
func preparePodStatus(pod, old *corev1.Pod) {
	setDefault(&pod.Status.QOSClass, old.Status.QOSClass)
	singleAndPlural(&pod.Status)
	// Clients that do not know these fields leave them out. An empty list clears one.
	now, was := &pod.Status, &old.Status
	if now.ResourceClaimStatuses == nil {
		now.ResourceClaimStatuses = was.ResourceClaimStatuses
	}
	if now.ExtendedResourceClaimStatus == nil {
		now.ExtendedResourceClaimStatus = was.ExtendedResourceClaimStatus
	}
	if now.NodeAllocatableResourceClaimStatuses == nil {
		now.NodeAllocatableResourceClaimStatuses = was.NodeAllocatableResourceClaimStatuses
	}
	keepObservedGenerations(now, was)
}

// keepObservedGenerations keeps the observed generations that a client has left out (KEP-5067). If there are
// several conditions of one type, the nth of them keeps the observed generation of the nth old one.
func keepObservedGenerations(now, was *corev1.PodStatus) {
	setDefault(&now.ObservedGeneration, was.ObservedGeneration)
	old := map[corev1.PodConditionType][]int64{}
	for i := range was.Conditions {
		c := &was.Conditions[i]
		old[c.Type] = append(old[c.Type], c.ObservedGeneration)
	}
	for i := range now.Conditions {
		c := &now.Conditions[i]
		if of := old[c.Type]; len(of) > 0 {
			setDefault(&c.ObservedGeneration, of[0])
			old[c.Type] = of[1:]
		}
	}
}

// podGracePeriod returns how long a pod may take to terminate, in seconds: the requested
// period, else the period in its spec. It is 0 if the pod was never scheduled or has
// terminated.
func podGracePeriod(obj runtime.Object, asked *int64) int64 {
	pod := obj.(*corev1.Pod)
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	period := int64(corev1.DefaultTerminationGracePeriodSeconds)
	switch {
	case asked != nil:
		period = *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		return 1
	}
	return period
}

// singleAndPlural keeps podIP and the first of podIPs equal; if they differ, podIP takes
// precedence.
func singleAndPlural(s *corev1.PodStatus) {
	switch {
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
}
