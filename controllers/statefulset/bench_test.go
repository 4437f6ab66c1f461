package statefulset

import (
	"fmt"
	"testing"
)

// BenchmarkDecide looks at a StatefulSet when nothing is to be done: what each pod's
// event costs at most.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, int32(n))
			for i := range n {
				w.pods(fmt.Sprintf("%d ready", i))
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
