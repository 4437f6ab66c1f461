package hunt

import "slices"

// shrink removes disturbances and steps from a finding as long as the run ends in the same way.
func (h *hunter) shrink(f *finding) {
	for i := 0; len(f.first.disturbances) > 1 && i < len(f.first.disturbances); {
		fewer := slices.Delete(slices.Clone(f.first.disturbances), i, i+1)
		if !h.still(f, f.steps, fewer) {
			i++
		}
	}
	for i := len(f.steps) - 1; i >= 0 && len(f.steps) > 1; i-- {
		h.still(f, slices.Delete(slices.Clone(f.steps), i, i+1), f.first.disturbances)
	}
}

// still reports whether a smaller run ends in the same way, and then makes it the finding's.
func (h *hunter) still(f *finding, steps []Step, disturbances []Disturbance) bool {
	base := h.base
	if len(steps) != len(h.workload.Steps) {
		if base = h.try(h.seed, steps, nil); base.failure != "" {
			return false
		}
	}
	o := h.try(h.seed, steps, disturbances)
	v := h.judge(o, base)
	if len(o.unmet) > 0 || v.signature() != f.verdict.signature() {
		return false
	}
	f.first, f.steps, f.verdict = o, steps, v
	return true
}
