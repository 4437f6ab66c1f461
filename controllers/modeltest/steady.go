package modeltest

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// Steady is a reconciler whose one owner has all that it wants: what it costs to look at
// the owner once more is what each event of a child costs at most.
type Steady struct {
	run   *Run
	actor *Actor
	key   types.NamespacedName
}

// Scenery is a world to come to rest.
type Scenery struct {
	// Owner is what is reconciled, and Others are there from the beginning; they are
	// made when the owner has its UID.
	Owner  plan.Object
	Others func(owner plan.Object) []plan.Object
	// Setup makes the reconciler.
	Setup func(run *Run, a *Actor) (loop.Reconciler, error)
	// Tend does what others do for the owner's children, such as making pods ready.
	Tend func(run *Run)
}

// steadyRounds is how often a reconciler may look until nothing is left to do.
const steadyRounds = 100

// NewSteady lets the reconciler and the others work until nothing changes any more.
func NewSteady(s Scenery) (*Steady, error) {
	ctx := context.Background()
	run := NewRun(func(int, string) int { return 0 })
	owner, err := run.World.Create(ctx, s.Owner)
	if err != nil {
		return nil, fmt.Errorf("making the owner: %w", err)
	}
	if s.Others != nil {
		for _, o := range s.Others(owner) {
			if _, err := run.World.Create(ctx, o); err != nil {
				return nil, fmt.Errorf("making the world: %w", err)
			}
		}
	}
	steady := &Steady{run: run, key: types.NamespacedName{Namespace: s.Owner.GetNamespace(), Name: s.Owner.GetName()}}
	steady.actor = &Actor{world: run.World, setup: func(a *Actor) (loop.Reconciler, error) { return s.Setup(run, a) }}
	if err := steady.actor.start(); err != nil {
		return nil, err
	}
	for range steadyRounds {
		before := run.World.serial
		if err := steady.Reconcile(); err != nil {
			return nil, err
		}
		if s.Tend != nil {
			s.Tend(run)
		}
		steady.deliver()
		if run.World.serial == before {
			return steady, nil
		}
	}
	return nil, fmt.Errorf("%s is still being changed after %d rounds", steady.key, steadyRounds)
}

// deliver shows the reconciler all that has happened.
func (s *Steady) deliver() {
	for _, v := range s.actor.views {
		for s.run.World.hasNews(v) {
			s.actor.deliver(v)
		}
	}
	s.actor.queue = nil
}

// Reconcile looks at the owner once, and lets the reconciler see what it has written.
func (s *Steady) Reconcile() error {
	_, err := s.actor.reconciler.Reconcile(context.Background(), s.key)
	s.deliver()
	if err != nil {
		return fmt.Errorf("reconciling %s: %w", s.key, err)
	}
	return nil
}

// Sizes are the numbers of children at which reconcilers are measured.
func Sizes() []int { return []int{10, 1000, 10_000} }

// BenchmarkSteady measures how long a look at an owner takes, by the number of its
// children.
func BenchmarkSteady(b *testing.B, scenery func(children int) Scenery) {
	for _, n := range Sizes() {
		b.Run(fmt.Sprintf("children=%d", n), func(b *testing.B) {
			steady, err := NewSteady(scenery(n))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := steady.Reconcile(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/child")
		})
	}
}

// growthSlack is how much more memory a child may cost among many than among few.
const growthSlack = 1.5

// CheckGrowth fails the test if a look at an owner allocates more than in proportion to
// the number of its children. It is what can be told of a reconciler's cost on any
// machine; how long it takes is for BenchmarkSteady.
func CheckGrowth(t *testing.T, scenery func(children int) Scenery) {
	t.Helper()
	var counts, bytes []float64
	sizes := Sizes()
	if testing.Short() {
		sizes = sizes[:len(sizes)-1]
	}
	for _, n := range sizes {
		steady, err := NewSteady(scenery(n))
		if err != nil {
			t.Fatal(err)
		}
		count, size, err := steady.allocations()
		if err != nil {
			t.Fatal(err)
		}
		counts, bytes = append(counts, count), append(bytes, size)
		t.Logf("%d children: %.0f allocations, %.0f bytes", n, count, size)
	}
	for i := 1; i < len(sizes); i++ {
		more := float64(sizes[i]) / float64(sizes[i-1]) * growthSlack
		if counts[i] > counts[i-1]*more || bytes[i] > bytes[i-1]*more {
			t.Errorf("from %d to %d children, allocations grow from %.0f to %.0f, bytes from %.0f to %.0f: that is not in proportion",
				sizes[i-1], sizes[i], counts[i-1], counts[i], bytes[i-1], bytes[i])
		}
	}
}

// allocations is how often and how much a look allocates, the least of several: the
// runtime may do something of its own meanwhile.
func (s *Steady) allocations() (count, bytes float64, err error) {
	for i := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := s.Reconcile(); err != nil {
			return 0, 0, err
		}
		runtime.ReadMemStats(&after)
		n, size := float64(after.Mallocs-before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc)
		if i == 0 || n < count {
			count, bytes = n, size
		}
	}
	return count, bytes, nil
}
