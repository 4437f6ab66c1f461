package modeltest

import (
	"context"
	"fmt"
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

// Looking is the work of a reconciler that looks once more at an owner which has all
// that it wants.
func Looking(scenery func(children int) Scenery) Work {
	return func(t testing.TB, children int) func() error {
		t.Helper()
		steady, err := NewSteady(scenery(children))
		if err != nil {
			t.Fatal(err)
		}
		return steady.Reconcile
	}
}
