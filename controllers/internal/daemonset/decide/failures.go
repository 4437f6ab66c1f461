package decide

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// A failed pod is replaced after a delay that doubles with each failed pod on the same
// node, as upstream's.
const (
	baseDelay = time.Second
	maxDelay  = 15 * time.Minute
)

// Failures records, by node, the replacements of failed pods of one generation of a
// DaemonSet. The zero value is empty.
type Failures struct {
	generation int64
	nodes      map[string]failure
}

type failure struct {
	last  time.Time
	delay time.Duration
}

// Empty reports whether no failed pod has been replaced.
func (f Failures) Empty() bool { return len(f.nodes) == 0 }

// of returns a copy, which is empty if f belongs to another generation.
func (f Failures) of(d *appsv1.DaemonSet) Failures {
	if f.generation != d.Status.ObservedGeneration {
		return Failures{generation: d.Status.ObservedGeneration}
	}
	return Failures{generation: f.generation, nodes: maps.Clone(f.nodes)}
}

// wait returns the remaining delay before the node's failed pod may be replaced; if it is
// 0, wait starts the delay of the next one.
func (f *Failures) wait(node string, now time.Time) time.Duration {
	known, ok := f.nodes[node]
	since := now.Sub(known.last)
	switch {
	case !ok || since > 2*maxDelay:
		known.delay = baseDelay
	case since < known.delay:
		return known.delay - since
	default:
		known.delay = min(2*known.delay, maxDelay)
	}
	if f.nodes == nil {
		f.nodes = map[string]failure{}
	}
	known.last = now
	f.nodes[node] = known
	return 0
}
