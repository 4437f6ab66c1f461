package runrecord

import (
	"slices"
	"testing"
	"time"
)

// The longer it goes on, the longer the intervals; what happened stays in them.
func TestCurvesGetCoarser(t *testing.T) {
	t.Parallel()
	c := newCurves()
	c.step(0, "", Pending)
	c.step(30*time.Millisecond, Pending, Ready)
	for second := range 86_400 {
		at := time.Duration(second) * time.Second
		c.count(c.writers, "kubelet", at, 1)
		if second == 43_200 { // for a moment, no pod is ready
			c.step(at, Ready, Pending)
			c.step(at, Pending, Ready)
		}
	}
	pods := c.pods(24 * time.Hour)
	if len(pods.Phases[Ready].Last) > maxIntervals || len(pods.Phases[Ready].Last) < maxIntervals/2 {
		t.Errorf("%d intervals", len(pods.Phases[Ready].Last))
	}
	ready := pods.Phases[Ready]
	if i := slices.Index(ready.Min[1:], 0) + 1; i != int(12*time.Hour/pods.Width) || ready.Last[i] != 1 || ready.Max[i] != 1 {
		t.Errorf("the moment is not where it was, but in interval %d of %v", i, pods.Width)
	}
	controllers := c.controllers(24 * time.Hour)
	if len(controllers) != 1 || sum(controllers[0].Writes) != 86_400 || len(controllers[0].Writes) != len(ready.Last) {
		t.Errorf("got %d writers with %d writes", len(controllers), sum(controllers[0].Writes))
	}
}

// A pod that was there before the record has been there all along.
func TestGaugeLift(t *testing.T) {
	t.Parallel()
	c := newCurves()
	c.step(0, "", Ready)
	c.step(time.Second, "", Ready)
	c.phase(Ready).lift()
	c.step(2*time.Second, Ready, "")
	ready := c.pods(2 * time.Second).Phases[Ready]
	if got := []int{ready.Last[0], ready.Last[50], ready.Last[100]}; !slices.Equal(got, []int{2, 3, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	for total := range 20 {
		k := kept[int]{half: 3}
		for i := range total {
			k.add(i)
		}
		var want []int
		for i := range total {
			if i < 3 || i >= total-3 {
				want = append(want, i)
			}
		}
		if got := k.all(); !slices.Equal(got, want) || k.forgotten() != int64(total-len(want)) {
			t.Errorf("of %d: %v, %d forgotten", total, got, k.forgotten())
		}
	}
}
