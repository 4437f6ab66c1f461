package decide

import (
	"fmt"
	"testing"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// BenchmarkDecide decides about a converged DaemonSet: the most that an event of one of its
// pods costs.
func BenchmarkDecide(b *testing.B) {
	modeltest.Benchmark(b, func(t testing.TB, n int) func() error {
		nodes := make([]string, n)
		for i := range nodes {
			nodes[i] = fmt.Sprintf("node-%d", i)
		}
		w := newWorld(t, nodes)
		for i, node := range nodes {
			w.pods(fmt.Sprintf("pod-%d %s ready", i, node))
		}
		return func() error {
			p, err := DaemonSet(w.Snapshot, now)
			if len(p.Actions) > 0 {
				return fmt.Errorf("it does something: %v", p.Actions)
			}
			return err
		}
	})
}
