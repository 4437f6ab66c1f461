package hunt

import (
	"slices"
	"sync/atomic"
)

// shrink removes disturbances and steps from a finding as long as the run ends in the same way.
func (h *hunter) shrink(f *finding) {
	for i := 0; len(f.first.disturbances) > 1 && i < len(f.first.disturbances); {
		fewer := slices.Delete(slices.Clone(f.first.disturbances), i, i+1)
		if !h.still(f, f.steps, fewer) {
			i++
		}
	}
	if !h.exact {
		h.repeatFinding(f)
		if f.cameBack == 0 {
			return
		}
	}
	for i := len(f.steps) - 1; i >= 0 && len(f.steps) > 1; i-- {
		if h.stopped != nil && h.stopped() {
			return
		}
		h.still(f, slices.Delete(slices.Clone(f.steps), i, i+1), f.first.disturbances)
	}
}

// still reports whether a smaller run ends in the same way, and then makes it the finding's.
func (h *hunter) still(f *finding, steps []Step, disturbances []Disturbance) bool {
	base := h.base
	if len(steps) != len(h.workload.Steps) {
		if base = h.attempt(h.seed, steps, nil); base.failure != "" {
			return false
		}
	}
	o := h.attempt(h.seed, steps, disturbances)
	v := h.judge(o, base)
	if len(o.unmet) > 0 || v.signature() != f.verdict.signature() {
		return false
	}
	f.first, f.steps, f.verdict = o, steps, v
	return true
}

// repeat makes the runs of a finding again, or runs with disturbances elsewhere if its write occurs in none of them.
func (h *hunter) repeat(list []Disturbance) error {
	outcomes := h.attempts(slices.Repeat([][]Disturbance{list}, h.repeats))
	if len(outcomes) > 0 && !slices.ContainsFunc(outcomes, (*outcome).met) {
		first := outcomes[0]
		if outcomes = h.attempts(h.elsewhere(list, first.unmet)); !slices.ContainsFunc(outcomes, (*outcome).met) {
			return neverMet(first)
		}
	}
	for _, o := range outcomes {
		h.add(o, h.judge(o, h.base))
	}
	for _, f := range h.findings {
		f.repeated, f.cameBack = h.tried, f.runs
	}
	return nil
}

// repeatFinding counts how often a run that is not exact ends as the finding does. If it seldom does, the chance that it met may be
// another run's rule: then that is the finding's.
func (h *hunter) repeatFinding(f *finding) {
	for _, o := range append([]*outcome{f.first}, f.others...) {
		var cameBack atomic.Int64
		h.inParallel(h.repeats, func(int) {
			again := h.attempt(h.seed, f.steps, o.disturbances)
			if v := h.judge(again, h.base); v.signature() == f.verdict.signature() {
				cameBack.Add(1)
			}
		})
		if n := int(cameBack.Load()); n > f.cameBack || f.repeated == 0 {
			f.first, f.verdict, f.repeated, f.cameBack = o, h.judge(o, h.base), h.repeats, n
		}
		if 2*f.cameBack > h.repeats {
			return
		}
	}
}
