package kubeletsim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// imagesInUse returns the images of the pods on a node that have not ended.
func (k *pressure) imagesInUse(node string) map[string]bool {
	used := map[string]bool{}
	for _, uid := range k.pods.on(node) {
		e := k.pods.get(uid)
		if e == nil {
			continue
		}
		pod, ended := e.lasts()
		if ended {
			continue
		}
		for _, c := range podspec.Containers(pod) {
			used[podspec.ImageName(c.Image)] = true
		}
	}
	return used
}

// lasts returns the pod, and whether nothing of it will run again.
func (e *podEntry) lasts() (pod *corev1.Pod, ended bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pod, e.gone || e.shown.Ended || lifecycle.Finished(e.pod)
}

// collectImages removes unused images from a node whose disk is nearly full. As upstream's kubelet,
// it reports that the collection failed only from the second time in a row on; that the disk is
// full, it reports each time.
func (k *pressure) collectImages(n *nodes.Node, view *eviction.Node, now time.Time) {
	c := eviction.Collect(n.Policy, view, now)
	k.removeImages(n, view, c.Remove)
	if c.Failed != "" {
		all := []lifecycle.Event{{Kind: corev1.EventTypeWarning, Reason: "FreeDiskSpaceFailed", Message: c.Failed}}
		if n.CollectionFailed {
			all = append(all, lifecycle.Event{Kind: corev1.EventTypeWarning, Reason: "ImageGCFailed", Message: c.Failed})
		}
		k.reportNode(n, all)
	}
	n.CollectionFailed = c.Failed != ""
}

// removeImages removes images from a node and from the view of it. Its next status lists them no
// longer.
func (k *pressure) removeImages(n *nodes.Node, view *eviction.Node, removed []eviction.Image) {
	if len(removed) == 0 {
		return
	}
	n.RemoveImages(removed)
	view.Images = slices.DeleteFunc(view.Images, func(i eviction.Image) bool {
		return slices.ContainsFunc(removed, func(r eviction.Image) bool { return r.Name == i.Name })
	})
}
