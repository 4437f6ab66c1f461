package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// qosClass returns the quality of service class of a pod's requests and limits.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass { return qos.ComputePodQOS(pod) }
