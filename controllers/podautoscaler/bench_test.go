package podautoscaler

import (
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// crowd is a target of n pods with two metrics of each.
func crowd(n int) Snapshot {
	return world{
		replicas: int32(n), max: int32(2 * n), readings: []Reading{each(n, 600), each(n, 12_000)},
		metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")},
		behavior: behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			b.ScaleUp.StabilizationWindowSeconds = ptr.To[int32](60)
		}),
	}.build()
}

// BenchmarkDecide measures a decision, by the number of pods.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			in := crowd(n)
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(in, now); d.Err != nil {
					b.Fatal(d.Err)
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
		return testing.AllocsPerRun(3, func() { Decide(in, now) })
	}
	few, many := cost(1000), cost(10_000)
	if many > 15*few {
		t.Errorf("of ten times as many pods a decision allocates %.0f in place of %.0f times", many, few)
	}
}
