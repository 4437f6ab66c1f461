package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/scenarios"
)

const (
	// maxCostSteps and maxCostWriters cap the lines of each part of costText.
	maxCostSteps   = 5
	maxCostWriters = 10
)

// costText returns what a run's time went to: the processor time of its steps, and who wrote what
// how often. Another scenario that runs at the same time counts in the processor time, which is
// the process's.
func costText(result *scenarios.Result) string {
	var b strings.Builder
	if result.Processor > 0 {
		steps := slices.Clone(result.Steps)
		slices.SortStableFunc(steps, func(x, y scenarios.StepResult) int { return cmp.Compare(y.Processor, x.Processor) })
		rest := result.Processor
		for i := range steps {
			rest -= steps[i].Processor
		}
		fmt.Fprintf(&b, "Processor time: %v\n", round(result.Processor))
		for i := range steps[:min(len(steps), maxCostSteps)] {
			fmt.Fprintf(&b, "  %10v  %s\n", round(steps[i].Processor), steps[i].Title)
		}
		if more := len(steps) - maxCostSteps; more > 0 {
			var sum time.Duration
			for i := range steps[maxCostSteps:] {
				sum += steps[maxCostSteps+i].Processor
			}
			fmt.Fprintf(&b, "  %10v  %d other steps\n", round(sum), more)
		}
		fmt.Fprintf(&b, "  %10v  start and end of the cluster\n", round(max(rest, 0)))
	}
	if result.Run == nil || result.Run.Totals.Writes == 0 {
		return b.String()
	}
	totals := &result.Run.Totals
	fmt.Fprintf(&b, "Writes: %d, of which %d changed nothing but times, as heartbeats do\n", totals.Writes, totals.Heartbeats)
	names := slices.SortedFunc(maps.Keys(totals.ByActorAndResource), func(x, y string) int {
		return cmp.Or(cmp.Compare(totals.ByActorAndResource[y], totals.ByActorAndResource[x]), cmp.Compare(x, y))
	})
	var others int64
	for i, name := range names {
		if i < maxCostWriters {
			fmt.Fprintf(&b, "  %10d  %s\n", totals.ByActorAndResource[name], name)
		} else {
			others += totals.ByActorAndResource[name]
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "  %10d  others\n", others)
	}
	return b.String()
}
