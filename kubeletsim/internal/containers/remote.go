package containers

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// Remote is a pod that another process simulates, as its object shows it: its containers answer what the object declares. What they keep,
// such as written files and the state of their servers, is in the other process.
type Remote struct {
	shown Shown
	files Files
}

// NewRemote returns the pod with an object, which has the annotations of its images' profiles.
func NewRemote(pod *corev1.Pod) *Remote {
	r := &Remote{shown: Shown{Pod: pod}}
	if addresses := reach.PodAddresses(pod); len(addresses) > 0 && !pod.Spec.HostNetwork {
		r.shown.State.Address = addresses[0]
		if len(addresses) > 1 {
			r.shown.State.SecondAddress = addresses[1]
		}
	}
	statuses := map[string]*corev1.ContainerStatus{}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for i := range list {
			statuses[list[i].Name] = &list[i]
		}
	}
	for _, ref := range podspec.Containers(pod) {
		c := lifecycle.Container{Name: ref.Name, Kind: ref.Kind}
		if s := statuses[ref.Name]; s != nil && s.State.Running != nil {
			c.Phase, c.Restarts = lifecycle.Running, s.RestartCount
		}
		r.shown.State.Containers = append(r.shown.State.Containers, c)
	}
	return r
}

// See implements Pod.
func (r *Remote) See() Shown { return r.shown }

// Occur implements Pod. What happens here has no effect in the other process.
func (*Remote) Occur(lifecycle.Occurrence) {}

// Files implements Pod.
func (r *Remote) Files() *Files { return &r.files }
