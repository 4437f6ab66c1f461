package modeltest

import (
	"fmt"
	"testing"
)

// EventSizes returns the numbers of children with which the cost of one event is measured.
func EventSizes() []int { return []int{10, 1000, 10_000, 100_000} }

// Changing returns the work of one further event: a child of a converged owner changes, the
// reconciler gets the event, and reconciles the owner. prepare returns the function that
// changes a child; i counts its calls.
func Changing(scenery func(children int) Scenery, prepare func(run *Run) (change func(i int))) Work {
	return func(t testing.TB, children int) func() error {
		t.Helper()
		steady, err := NewSteady(scenery(children))
		if err != nil {
			t.Fatal(err)
		}
		change, i := prepare(steady.run), 0
		return func() error {
			change(i)
			i++
			steady.deliver()
			err := steady.Reconcile()
			steady.forget()
			return err
		}
	}
}

// BenchmarkEvent measures how long work takes for one event, by the number of children.
func BenchmarkEvent(b *testing.B, work Work) {
	for _, n := range EventSizes() {
		b.Run(fmt.Sprintf("children=%d", n), func(b *testing.B) {
			do := work(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// CheckConstant fails the test if the allocations of work grow with the number of children
// by more than growthSlack. See CheckGrowth.
func CheckConstant(t *testing.T, work Work) {
	t.Helper()
	sizes := Sizes()
	if testing.Short() {
		sizes = sizes[:len(sizes)-1]
	}
	var least float64
	for i, n := range sizes {
		_, size, err := allocations(work(t, n))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d children: %.0f bytes", n, size)
		if i == 0 {
			least = size
		}
		if size > least*growthSlack {
			t.Errorf("one event allocates %.0f bytes with %d children, and %.0f with %d", least, sizes[0], size, n)
		}
	}
}
