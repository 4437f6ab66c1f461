package decide

import (
	"fmt"
	"testing"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// BenchmarkDecide decides about a converged StatefulSet: the most that an event of one of
// its pods costs.
func BenchmarkDecide(b *testing.B) {
	modeltest.Benchmark(b, func(t testing.TB, n int) func() error {
		w := newWorld(t, int32(n))
		for i := range n {
			w.pods(fmt.Sprintf("%d ready", i))
		}
		return func() error {
			p, err := StatefulSet(w.Snapshot, now)
			if len(p.Actions) > 0 {
				return fmt.Errorf("it does something: %v", p.Actions)
			}
			return err
		}
	})
}
