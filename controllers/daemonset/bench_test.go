package daemonset

import (
	"fmt"
	"testing"
)

// BenchmarkDecide looks at a DaemonSet when nothing is to be done: what each pod's
// event costs at most.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes := make([]string, n)
			for i := range nodes {
				nodes[i] = fmt.Sprintf("node-%d", i)
			}
			w := newWorld(b, nodes)
			for i, node := range nodes {
				w.pods(fmt.Sprintf("pod-%d %s ready", i, node))
			}
			b.ReportAllocs()
			for b.Loop() {
				if p, err := Decide(w.Snapshot, now); err != nil || len(p.Actions) != 0 {
					b.Fatal(p.Actions, err)
				}
			}
		})
	}
}
