package selection

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	endpointsliceutil "k8s.io/endpointslice/util"

	"minikcm.dev/minikcm/internal/loop"
)

// Wake returns the services whose endpoints the pod's event may change, including those
// that selected the pod before an update.
func (s *Selection) Wake(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	old, _ := ev.Old.(*corev1.Pod)
	if !Matters(old, pod) {
		return nil
	}
	keys := s.Services(pod.Namespace, pod.Labels)
	if old != nil && !maps.Equal(old.Labels, pod.Labels) {
		for _, key := range s.Services(old.Namespace, old.Labels) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Matters reports whether a pod's change can affect endpoints. old is nil when the pod was
// added or deleted. A pod without an address, or whose containers have all ended
// permanently, is no endpoint.
func Matters(old, pod *corev1.Pod) bool {
	is := endpointsliceutil.ShouldPodBeInEndpoints(pod, true)
	if old == nil {
		return is
	}
	was := endpointsliceutil.ShouldPodBeInEndpoints(old, true)
	if was != is {
		return true
	}
	if !is {
		return false
	}
	return old.UID != pod.UID ||
		!maps.Equal(old.Labels, pod.Labels) ||
		old.DeletionTimestamp.IsZero() != pod.DeletionTimestamp.IsZero() ||
		endpointsliceutil.IsPodReady(old) != endpointsliceutil.IsPodReady(pod) ||
		!slices.Equal(old.Status.PodIPs, pod.Status.PodIPs) ||
		old.Status.PodIP != pod.Status.PodIP ||
		old.Spec.NodeName != pod.Spec.NodeName ||
		old.Spec.Hostname != pod.Spec.Hostname || old.Spec.Subdomain != pod.Spec.Subdomain
}
