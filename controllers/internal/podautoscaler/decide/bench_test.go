package decide

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// deciding decides about a target of n pods with two metrics each.
func deciding(_ testing.TB, n int) func() error {
	in := world{
		replicas: int32(n), max: int32(2 * n), readings: []Reading{each(n, 600), each(n, 12_000)},
		metrics: []autoscalingv2.MetricSpec{cpu(50), podsMetric("10")},
		behavior: behavior(func(b *autoscalingv2.HorizontalPodAutoscalerBehavior) {
			b.ScaleUp.StabilizationWindowSeconds = ptr.To[int32](60)
		}),
	}.build()
	return func() error { return Autoscaler(in, now).Err }
}

func BenchmarkDecide(b *testing.B) { modeltest.Benchmark(b, deciding) }

func TestCostGrowsWithPods(t *testing.T) { modeltest.CheckGrowth(t, deciding) }
