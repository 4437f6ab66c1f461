package eviction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/usage"
)

// rank returns the candidates for an eviction in the order of eviction. Pods that use more than
// they request come before the others, then lower priorities before higher ones, then pods by the
// usage beyond their requests, the highest first. For PIDs, requests do not exist.
func (n *Node) rank(i int, at time.Time) []*Pod {
	name := signals()[i].resource()
	type candidate struct {
		pod      *Pod
		excess   float64
		priority int32
	}
	var all []candidate
	for j := range n.Pods {
		p := &n.Pods[j]
		if p.Evicted || Critical(p.Object) {
			continue
		}
		c := candidate{pod: p, excess: p.used(i, at) - p.requested(name)}
		if p.Object.Spec.Priority != nil {
			c.priority = *p.Object.Spec.Priority
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if exceeds := a.excess > 0; name != usage.ResourcePIDs && exceeds != (b.excess > 0) {
			if exceeds {
				return -1
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(a.priority, b.priority),
			cmp.Compare(b.excess, a.excess),
			strings.Compare(a.pod.Object.Namespace+"/"+a.pod.Object.Name, b.pod.Object.Namespace+"/"+b.pod.Object.Name),
		)
	})
	pods := make([]*Pod, len(all))
	for i := range all {
		pods[i] = all[i].pod
	}
	return pods
}

// message says why a pod is evicted for a threshold.
func (n *Node) message(p *Policy, t *Threshold, pod *Pod, at time.Time) string {
	i := slices.Index(signals(), t.Signal)
	name := t.Signal.resource()
	available := n.limit(p, t.Signal) - n.used(i, at)
	if name != usage.ResourcePIDs {
		available = kibibytes(available)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "The node was low on resource: %s. Threshold quantity: %s, available: %s. ",
		name, t.Below.text(n.capacity(t.Signal)), bytes(available))
	if name == usage.ResourcePIDs {
		return text.String()
	}
	for j := range pod.Containers {
		c := &pod.Containers[j]
		request := c.Spec.Resources.Requests[name]
		if used := kibibytes(c.uses(i, at)); used > request.AsApproximateFloat64() {
			fmt.Fprintf(&text, "Container %s was using %s, request is %s, has larger consumption of %s. ", c.Spec.Name, bytes(used), request.String(), name)
		}
	}
	return text.String()
}

// kibibytes rounds an amount as metrics do.
func kibibytes(amount float64) float64 { return math.Round(amount/1024) * 1024 }

// exceeded returns the reason why the pod is evicted for its own limits of ephemeral storage; empty
// if it stays within them. It checks the limits of the volumes first.
func (p *Pod) exceeded(at time.Time) string {
	if p.Evicted || Critical(p.Object) {
		return ""
	}
	if why := p.exceededVolume(); why != "" || p.diskLimit == nil {
		return why
	}
	if p.used(diskSignal, at) > p.diskLimit.AsApproximateFloat64() {
		return fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", p.diskLimit.String())
	}
	for j := range p.Containers {
		c := &p.Containers[j]
		limit, ok := c.Spec.Resources.Limits[corev1.ResourceEphemeralStorage]
		if ok && !limit.IsZero() && c.uses(diskSignal, at) > limit.AsApproximateFloat64() {
			return fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Spec.Name, limit.String())
		}
	}
	return ""
}
