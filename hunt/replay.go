package hunt

import (
	"fmt"
	"slices"
)

// replay runs the workload with disturbances once, and fails the test with the finding.
func (h *hunter) replay(list []Disturbance) {
	h.t.Helper()
	o := h.attempt(h.seed, h.workload.Steps, list)
	outcomes := []*outcome{o}
	if len(o.unmet) > 0 {
		if outcomes = h.attempts(h.elsewhere(list, o.unmet)); !slices.ContainsFunc(outcomes, (*outcome).met) {
			h.t.Fatalf("hunt: %v", neverMet(o))
		}
	}
	for _, o := range outcomes {
		h.add(o, h.judge(o, h.base))
	}
	for _, f := range h.findings {
		h.t.Errorf("hunt: %s", h.story(f))
	}
}

// met reports whether all disturbances took place.
func (o *outcome) met() bool { return len(o.unmet) == 0 }

// neverMet says that the write of a disturbance does not occur.
func neverMet(o *outcome) error {
	return fmt.Errorf("%q is not possible: its write does not occur, nor another one of the resource, or its object does not exist. The operator's writes:%s", o.unmet[0], indented(clip(o.calls)))
}

// maxElsewhere caps the runs in place of one whose write does not occur.
const maxElsewhere = 64

// elsewhere returns lists in which the unmet disturbances happen at other writes of their resources.
func (h *hunter) elsewhere(list, unmet []Disturbance) [][]Disturbance {
	lists := [][]Disturbance{nil}
	for _, d := range list {
		var longer [][]Disturbance
		at := []Point{d.At}
		if slices.Contains(unmet, d) {
			at = slices.DeleteFunc(slices.Clone(h.points), func(p Point) bool { return p.Resource != d.At.Resource })
		}
		for _, before := range lists {
			for _, d.At = range at {
				if len(longer) < maxElsewhere {
					longer = append(longer, append(slices.Clip(before), d))
				}
			}
		}
		lists = longer
	}
	return lists
}

// attempts makes runs of the workload with each list of disturbances, until the hunt is stopped.
func (h *hunter) attempts(lists [][]Disturbance) []*outcome {
	outcomes := make([]*outcome, len(lists))
	h.inParallel(len(lists), func(i int) {
		if h.stopped == nil || !h.stopped() {
			outcomes[i] = h.attempt(h.seed, h.workload.Steps, lists[i])
		}
	})
	return slices.DeleteFunc(outcomes, func(o *outcome) bool { return o == nil })
}
