package modeltest

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Steady is a reconciler whose one owner has converged. One more reconcile of the owner
// costs as much as an event of a child costs at most.
type Steady struct {
	run   *Run
	actor *Actor
	key   types.NamespacedName
}

// Scenery describes a world that converges.
type Scenery struct {
	// Owner is the reconciled object. Others returns the other objects, which are created
	// after the owner has its UID.
	Owner  plan.Object
	Others func(owner plan.Object) []plan.Object
	// Setup builds the reconciler.
	Setup func(run *Run, a *Actor) (loop.Reconciler, error)
	// Tend makes the changes that others make to the owner's children, such as making pods
	// ready.
	Tend func(run *Run)
}

// steadyRounds caps the rounds until the world has to converge. Controllers create their
// children in bursts, so many children need more rounds.
func steadyRounds(w *World) int { return 100 + len(w.objects)/50 }

// NewSteady runs the reconciler and Tend until nothing changes any more.
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
	for round := 0; round < steadyRounds(run.World); round++ {
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
	return nil, fmt.Errorf("%s still changes after %d rounds", steady.key, steadyRounds(run.World))
}

// deliver delivers all pending events to the reconciler.
func (s *Steady) deliver() {
	for _, v := range s.actor.views {
		for s.run.World.hasNews(v) {
			s.actor.deliver(v)
		}
	}
	s.actor.queue = nil
}

// forget drops the delivered events.
func (s *Steady) forget() {
	s.run.World.log = s.run.World.log[:0]
	for _, v := range s.actor.views {
		v.position = 0
	}
}

// Reconcile reconciles the owner once and delivers the events of the writes.
func (s *Steady) Reconcile() error {
	_, err := s.actor.reconciler.Reconcile(context.Background(), s.key)
	s.deliver()
	if err != nil {
		return fmt.Errorf("reconciling %s: %w", s.key, err)
	}
	return nil
}

// Looking returns the work of reconciling an owner that has converged once more.
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
