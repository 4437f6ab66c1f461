package eviction

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
)

// shortestRun is the minimum time that a container runs before the kernel kills it.
const shortestRun = time.Second

// Victim is the container that the kernel kills.
type Victim struct {
	Pod       types.UID
	Container string
}

// exhaustedAt returns the first second after a time, up to another one, at which the memory is
// exhausted; zero if it is not at the end.
func (n *Node) exhaustedAt(p *Policy, after, until time.Time) time.Time {
	if n.used(0, until) <= n.limit(p, MemoryAvailable) {
		return time.Time{}
	}
	for at := after; at.Before(until); at = at.Add(time.Second) {
		if n.exhausted(p, at) {
			return at
		}
	}
	return until
}

func (n *Node) exhausted(p *Policy, at time.Time) bool {
	var sum float64
	for j := range n.Pods {
		for k := range n.Pods[j].Containers {
			if c := &n.Pods[j].Containers[k]; !c.Since.Add(shortestRun).After(at) {
				sum += c.demands[0].At(at)
			}
		}
	}
	return sum > n.limit(p, MemoryAvailable)
}

// OutOfMemory returns the container that the kernel kills because the pods use more memory than
// the node has for them: the one with the highest sum of its share of the memory and its
// oom_score_adj, by which upstream's kubelet protects containers according to the pod's QoS class.
// It returns false while there is enough.
func OutOfMemory(p *Policy, n *Node, now time.Time) (Victim, bool) {
	if !n.exhausted(p, now) {
		return Victim{}, false
	}
	var worst Victim
	highest, found := 0.0, false
	for j := range n.Pods {
		for k := range n.Pods[j].Containers {
			pod, c := n.Pods[j].Object, &n.Pods[j].Containers[k]
			if c.Since.Add(shortestRun).After(now) {
				continue
			}
			score := 1000*c.demands[0].At(now)/n.capacity(MemoryAvailable) + float64(podspec.OOMScoreAdjustment(pod, c.Spec, int64(n.capacity(MemoryAvailable))))
			if !found || score > highest {
				worst, highest, found = Victim{pod.UID, c.Spec.Name}, score, true
			}
		}
	}
	return worst, found
}
