package disruption

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// crowd is a budget of n pods, a tenth of which are not ready.
func crowd(n int) Snapshot {
	return Snapshot{Budget: budget("", "20%"), Pods: pods("web", n-n/10, n/10), Scales: map[types.UID]int32{"web": int32(n)}}
}

// BenchmarkDecide measures a decision, by the number of pods.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			in := crowd(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decide(in, start); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}

// A decision allocates no more than in proportion to the pods.
func TestCostGrowsWithPods(t *testing.T) {
	cost := func(n int) float64 {
		in := crowd(n)
		return testing.AllocsPerRun(3, func() { _, _ = Decide(in, start) })
	}
	few, many := cost(1000), cost(10_000)
	if many > 15*few {
		t.Errorf("of ten times as many pods a decision allocates %.0f in place of %.0f times", many, few)
	}
}
