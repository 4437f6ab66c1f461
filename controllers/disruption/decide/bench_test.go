package decide

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/modeltest"
)

// deciding decides about a budget of n pods, a tenth of which are not ready.
func deciding(_ testing.TB, n int) func() error {
	in := Snapshot{Budget: budget("", "20%"), Pods: pods("web", n-n/10, n/10), Scales: map[types.UID]int32{"web": int32(n)}}
	return func() error {
		_, err := Budget(in, start)
		return err
	}
}

func BenchmarkDecide(b *testing.B) { modeltest.Benchmark(b, deciding) }

func TestCostGrowsWithPods(t *testing.T) { modeltest.CheckGrowth(t, deciding) }
