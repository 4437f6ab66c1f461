package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// resize reserves the resources that the pod's spec now requests, or returns why they do not
// fit.
func (k *Kubelets) resize(n *nodes.Node, e *podEntry, pod *corev1.Pod) lifecycle.Rejection {
	if !lifecycle.WantsResize(pod, &e.state) {
		return lifecycle.Rejection{}
	}
	object, _ := k.nodeLister.Get(n.Name)
	why := n.Resize(pod, object)
	if why.Reason == "" {
		k.wakeWaiting(n) // it may be less than before
	}
	return why
}

// release releases the pod's resources and retries resizes that did not fit.
func (k *Kubelets) release(n *nodes.Node, pod *corev1.Pod) {
	n.Release(pod.UID)
	n.StopUsing(pod, k.opts.Clock.Now())
	if len(n.Pressures()) > 0 {
		k.loop.Add(pressureKey(n.Name)) // its images may be removed now
	}
	k.wakeWaiting(n)
}

func (k *Kubelets) wakeWaiting(n *nodes.Node) {
	for _, uid := range n.WaitingForResources() {
		k.loop.Add(podKey(string(uid)))
	}
}
