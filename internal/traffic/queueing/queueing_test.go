package queueing

import (
	"math"
	"testing"
)

// The values are from tables of Erlang's formulas, and follow from them by hand for one worker.
func TestFormulas(t *testing.T) {
	mm1 := Queue{Workers: 1, Service: 0.01, Variation: 1}
	md1 := Queue{Workers: 1, Service: 0.01}
	blocked, waiting := Blocked(1, 3, 0.5)
	swamped, full := Blocked(2, 1000, 1e6)
	for name, c := range map[string][2]float64{
		"Erlang B, 10 workers, 5 Erlang": {ErlangB(10, 5), 0.018385},
		"Erlang C, 10 workers, 8 Erlang": {ErlangC(10, 8), 0.409180},
		"Erlang C, 1 worker":             {ErlangC(1, 0.7), 0.7},
		"Erlang C, too many":             {ErlangC(2, 3), 1},
		"M/M/1, wait":                    {mm1.Wait(80), 0.04},
		"M/M/1, present":                 {mm1.Present(0.8), 4},
		"M/D/1, wait":                    {md1.Wait(80), 0.02},
		"M/M/1/4, blocked":               {blocked, 0.03125 / 0.96875},
		"M/M/1/4, waiting":               {waiting, (0.25*1 + 0.125*2 + 0.0625*3) / 1.9375},
		"a queue that is always full":    {swamped, 1 - 2e-6},
		"how many wait in it":            {full, 1000},
	} {
		if math.Abs(c[0]-c[1]) > 2e-4*math.Abs(c[1]) {
			t.Errorf("%s: %v, not %v", name, c[0], c[1])
		}
	}
	if !math.IsInf(mm1.Wait(100), 1) {
		t.Error("a queue at its capacity has a mean wait")
	}
}

// Waits of a queue with a limit have the mean that follows from the number of those that wait (Little).
func TestWaits(t *testing.T) {
	for _, load := range []float64{0.5, 3, 4, 10, 1e6} {
		for _, limit := range []int{1, 10, 250} {
			q := Queue{Workers: 4, Service: 0.02, Variation: 1}
			blocked, waiting := Blocked(q.Workers, limit, load)
			mean, share := 0.0, 0.0
			for _, c := range q.Waits(limit, load, 1) {
				mean += c.At * c.Share
				share += c.Share
			}
			want := waiting / (load / q.Service * (1 - blocked))
			if math.Abs(share-1) > 1e-6 || math.Abs(mean-want) > 0.02*want+1e-9 {
				t.Errorf("load %v, limit %d: the mean wait of a share of %v is %v, not %v", load, limit, share, mean, want)
			}
		}
	}
	total := 0.0
	for _, c := range Cells() {
		total += c.Share
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the shares of the cells have the sum %v", total)
	}
}
