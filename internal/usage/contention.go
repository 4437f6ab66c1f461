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

// cpuDemand is what a container would use of an idle node's CPU, in cores, and what it can rely on
// if the node is not idle.
type cpuDemand struct {
	// asks is without the container's limit, which is 0 if it has none.
	asks, limit float64
	// wants is at most the container's limit.
	wants float64
	// sure is served before anything else: the container's request, or all of a demand that
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
// their usage to what they get. It changes nothing while they want no more than capacity. Otherwise,
// each container gets its request, and what is left goes by CPU shares to those that want more. What
// one of them leaves goes to the others in the same way.
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

// part is what one container has of a node's CPU, and what it wants beyond that.
type part struct{ shares, has, wants float64 }

// divide adds an amount to the parts in proportion to their shares, to each at most what it wants.
func divide(amount float64, parts []part) {
	order, total := make([]*part, len(parts)), 0.0
	for i := range parts {
		order[i] = &parts[i]
		total += parts[i].shares
	}
	// Those that want least for their shares come first: what they leave is for the rest.
	slices.SortStableFunc(order, func(a, b *part) int { return cmp.Compare(a.wants*b.shares, b.wants*a.shares) })
	for _, p := range order {
		gets := min(p.wants, max(amount, 0)*p.shares/total)
		p.has += gets
		amount -= gets
		total -= p.shares
	}
}
