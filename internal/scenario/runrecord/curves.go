package runrecord

import (
	"cmp"
	"slices"
	"time"
)

const (
	// firstWidth is the initial length of the intervals of curves. maxIntervals caps their number:
	// when it is reached, pairs of intervals are merged.
	firstWidth   = 20 * time.Millisecond
	maxIntervals = 512
	// maxCurves bounds how many writers get a curve of their own.
	maxCurves = 60
)

// curves are counts over time, all of them in the same intervals.
type curves struct {
	width  time.Duration
	phases map[Phase]*gauge
	// writers, reconciles and failures are by name.
	writers, reconciles, failures map[string]*counter
	// other is the name of all writers that came too late for a curve.
	other string
}

func newCurves() *curves {
	return &curves{
		width: firstWidth, phases: map[Phase]*gauge{}, other: "others",
		writers: map[string]*counter{}, reconciles: map[string]*counter{}, failures: map[string]*counter{},
	}
}

// interval is the index of the interval that holds a time, for which all curves have
// room then.
func (c *curves) interval(at time.Duration) int {
	for at/c.width >= maxIntervals {
		c.width *= 2
		for _, g := range c.phases {
			g.coarsen()
		}
		for _, all := range []map[string]*counter{c.writers, c.reconciles, c.failures} {
			for _, n := range all {
				n.coarsen()
			}
		}
	}
	return int(at / c.width)
}

// step moves a pod from one phase to another; empty is no phase.
func (c *curves) step(at time.Duration, from, to Phase) {
	if from == to {
		return
	}
	i := c.interval(at)
	if from != "" {
		c.phase(from).add(i, -1)
	}
	if to != "" {
		c.phase(to).add(i, 1)
	}
}

func (c *curves) phase(p Phase) *gauge {
	if c.phases[p] == nil {
		c.phases[p] = &gauge{}
	}
	return c.phases[p]
}

func (c *curves) count(all map[string]*counter, name string, at time.Duration, n int64) {
	if n == 0 {
		return
	}
	i := c.interval(at)
	if all[name] == nil && len(all) >= maxCurves {
		name = c.other
	}
	if all[name] == nil {
		all[name] = &counter{}
	}
	all[name].add(i, n)
}

// pods returns the curves of the phases until the end.
func (c *curves) pods(end time.Duration) Pods {
	i := c.interval(end)
	pods := Pods{Width: c.width, Phases: map[Phase]Curve{}}
	for p, g := range c.phases {
		g.reach(i)
		pods.Phases[p] = g.Curve
	}
	return pods
}

// controllers returns the controllers that did something, the busiest first.
func (c *curves) controllers(end time.Duration) []Controller {
	last := c.interval(end)
	byName := map[string]*Controller{}
	for what, all := range []map[string]*counter{c.writers, c.reconciles, c.failures} {
		for name, n := range all {
			if byName[name] == nil {
				byName[name] = &Controller{Name: name, Width: c.width}
			}
			n.reach(last)
			switch what {
			case 0:
				byName[name].Writes = n.counts
			case 1:
				byName[name].Reconciles = n.counts
			default:
				byName[name].Failures = n.counts
			}
		}
	}
	var out []Controller
	for _, one := range byName {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Controller) int {
		return cmp.Or(cmp.Compare(sum(b.Writes), sum(a.Writes)), cmp.Compare(sum(b.Reconciles), sum(a.Reconciles)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func sum(counts []int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// gauge records a number over time.
type gauge struct {
	Curve
	value int
}

// reach makes room up to interval i: nothing changed until then.
func (g *gauge) reach(i int) {
	for len(g.Last) <= i {
		g.Min, g.Max, g.Last = append(g.Min, g.value), append(g.Max, g.value), append(g.Last, g.value)
	}
}

func (g *gauge) add(i, n int) {
	g.reach(i)
	g.value += n
	g.Min[i], g.Max[i], g.Last[i] = min(g.Min[i], g.value), max(g.Max[i], g.value), g.value
}

// lift adds one that was there all along.
func (g *gauge) lift() {
	g.value++
	for i := range g.Last {
		g.Min[i]++
		g.Max[i]++
		g.Last[i]++
	}
}

func (g *gauge) coarsen() {
	half := (len(g.Last) + 1) / 2
	for i := range half {
		a, b := 2*i, min(2*i+1, len(g.Last)-1)
		g.Min[i], g.Max[i], g.Last[i] = min(g.Min[a], g.Min[b]), max(g.Max[a], g.Max[b]), g.Last[b]
	}
	g.Min, g.Max, g.Last = g.Min[:half], g.Max[:half], g.Last[:half]
}

// counter counts occurrences over time.
type counter struct{ counts []int64 }

func (c *counter) reach(i int) {
	for len(c.counts) <= i {
		c.counts = append(c.counts, 0)
	}
}

func (c *counter) add(i int, n int64) {
	c.reach(i)
	c.counts[i] += n
}

func (c *counter) coarsen() {
	half := (len(c.counts) + 1) / 2
	for i := range half {
		n := c.counts[2*i]
		if 2*i+1 < len(c.counts) {
			n += c.counts[2*i+1]
		}
		c.counts[i] = n
	}
	c.counts = c.counts[:half]
}
