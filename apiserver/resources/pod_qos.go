package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// qosClass is the quality of service that a pod's requests and limits give it.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass { return qos.ComputePodQOS(pod) }
