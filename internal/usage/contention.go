package usage

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The CPU shares that the kubelet gives a container: 1,024 for each CPU that it requests, within the
// bounds of the kernel.
const (
	sharesPerCPU = 1024
	minShares    = 2
	maxShares    = 262144
)

// floatError bounds the error of a sum of shares, in billionths of a core.
const floatError = 1e-3

// cpuDemand is the CPU, in cores, that a container would use on an idle node, and the part of it
// that the container gets on a busy one.
type cpuDemand struct {
	// asks is the demand before the container's limit is applied; limit is 0 if there is none.
	asks, limit float64
	// wants is the demand within the limit.
	wants float64
	// sure is allocated before anything else: the container's request, or all of a demand that
	// nothing declares, which is half of the request or next to nothing.
	sure   float64
	shares float64
}

func cpuDemandOf(c *corev1.Container, asks, wants float64, declared bool) cpuDemand {
	request, limit := c.Resources.Requests[corev1.ResourceCPU], c.Resources.Limits[corev1.ResourceCPU]
	shares := math.Floor(float64(request.MilliValue()) * sharesPerCPU / 1000)
	d := cpuDemand{
		asks: asks, limit: limit.AsApproximateFloat64(), wants: wants,
		sure: request.AsApproximateFloat64(), shares: min(max(shares, minShares), maxShares),
	}
	if !declared {
		d.sure = wants
	}
	return d
}

// Contends reports whether a container wants more CPU than it can rely on, so that its usage depends
// on the other pods of its node.
func Contends(containers []Container) bool {
	return slices.ContainsFunc(containers, func(c Container) bool { return c.cpu.wants > c.cpu.sure })
}

// ShareCPU divides the CPU of a node among the containers of its pods, as the kernel does, and lowers
// their usage to their shares. It changes nothing while they want no more than capacity. Otherwise,
// each container gets its request, and the rest is divided by CPU shares among the containers that
// want more. If one of them wants less than its part, the others share the remainder in the same way.
func ShareCPU(capacity resource.Quantity, pods [][]Container) {
	var all []*Container
	wanted, sure := 0.0, 0.0
	for _, containers := range pods {
		for i := range containers {
			c := &containers[i]
			all = append(all, c)
			wanted += c.cpu.wants
			sure += min(c.cpu.wants, c.cpu.sure)
		}
	}
	cores := capacity.AsApproximateFloat64()
	if wanted <= cores {
		return
	}
	parts := make([]part, len(all))
	for i, c := range all {
		first := min(c.cpu.wants, c.cpu.sure)
		if parts[i] = (part{shares: c.cpu.shares, has: first, wants: c.cpu.wants - first}); sure > cores {
			parts[i].has, parts[i].wants = 0, first
		}
	}
	if sure > cores {
		sure = 0 // not even the requests fit, which happens when a node has become smaller
	}
	divide(cores-sure, parts)
	for i, c := range all {
		// Rounded down, so that the sum never exceeds the capacity, but for the errors of floats.
		c.CPU = *resource.NewScaledQuantity(int64(math.Floor(parts[i].has*1e9+floatError)), resource.Nano)
	}
}

// part is one container's part of a node's CPU: the cores that it has, and the cores that it wants
// in addition.
type part struct{ shares, has, wants float64 }

// divide adds an amount to the parts in proportion to their shares, at most wants to each.
func divide(amount float64, parts []part) {
	order, total := make([]*part, len(parts)), 0.0
	for i := range parts {
		order[i] = &parts[i]
		total += parts[i].shares
	}
	// Parts that want least for their shares come first: the rest gets their remainders.
	slices.SortStableFunc(order, func(a, b *part) int { return cmp.Compare(a.wants*b.shares, b.wants*a.shares) })
	for _, p := range order {
		gets := min(p.wants, max(amount, 0)*p.shares/total)
		p.has += gets
		amount -= gets
		total -= p.shares
	}
}
