package usage

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// CFSPeriod is the period in which the kernel enforces the CPU limits of containers, as upstream's
// kubelet configures it. In each, a container may run for its quota: its limit times the period.
const CFSPeriod = 100 * time.Millisecond

// Counters count the CPU that one run of a container has used, as the control group of a real one
// does.
type Counters struct {
	// CPU is the time that the container has run, on all CPUs together.
	CPU time.Duration
	// Limited means that the container has a limit. Without one, the rest is 0.
	Limited bool
	// Periods counts the CFS periods of its limit, and Throttled the periods in which it had to
	// wait for the next one. ThrottledTime is how long it has waited, on all CPUs together.
	Periods, Throttled int64
	ThrottledTime      time.Duration
	// Amounts has, by resource, the integral over the seconds of the container's usage: of memory
	// and of the resources for which there are rules.
	Amounts map[corev1.ResourceName]float64

	// lasted is the time that Periods counts in whole periods; throttled is the same for Throttled.
	lasted, throttled time.Duration
}

// AddAmounts adds to Amounts a time during which a container had the given usage.
func (c *Counters) AddAmounts(d time.Duration, used *Container) {
	if c.Amounts == nil {
		c.Amounts = map[corev1.ResourceName]float64{}
	}
	c.Amounts[corev1.ResourceMemory] += used.Memory.AsApproximateFloat64() * d.Seconds()
	for name, amount := range used.Others {
		c.Amounts[name] += amount * d.Seconds()
	}
}

// Add counts a time during which a container had the given usage. It is throttled while it would use
// more than its limit and is given that much. One that other containers of its node leave less does
// not use its quota up: it waits for a CPU, not for the next period.
func (c *Counters) Add(d time.Duration, used *Container) {
	got := used.CPU.AsApproximateFloat64()
	c.CPU += time.Duration(got * float64(d))
	c.AddAmounts(d, used)
	limit := used.cpu.limit
	if c.Limited = limit > 0; !c.Limited {
		return
	}
	c.lasted += d
	c.Periods = int64(c.lasted / CFSPeriod)
	if used.cpu.asks <= limit || got+2e-9 < limit { // the usage is rounded to billionths of a core
		return
	}
	c.throttled += d
	c.Throttled = int64(c.throttled / CFSPeriod)
	// As many threads as there are CPUs to fill use the quota up together, and wait for the rest of
	// the period.
	threads := math.Ceil(used.cpu.asks)
	c.ThrottledTime += time.Duration(threads * (1 - limit/used.cpu.asks) * float64(d))
}
