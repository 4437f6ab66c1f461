package ctrltest

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// hasCache is what controller-runtime starts before what uses its cache.
type hasCache interface{ GetCache() cache.Cache }

// warmsUp is what controller-runtime starts to work before it leads.
type warmsUp interface {
	Warmup(ctx context.Context) error
}

// gate returns what takes the place of a runnable.
func (w *world) gate(r manager.Runnable) (manager.Runnable, error) {
	switch r.(type) {
	case hasCache, webhook.Server:
		return r, nil
	}
	fields, err := fieldsOf(r)
	if err != nil {
		return nil, err
	}
	g := &gated{Runnable: r, world: w}
	if le, ok := r.(manager.LeaderElectionRunnable); !ok || le.NeedLeaderElection() {
		g.leads = true
	}
	if fields != nil && !fields.hasOwnQueue() {
		if err := w.adapt(fields, hooks{made: func() {}, works: g.works}); err != nil {
			return nil, err
		}
		g.tellsWhenItWorks = true
	}
	w.starting.add(g)
	if warm, ok := r.(warmsUp); ok {
		return &gatedWarm{gated: g, warm: warm}, nil
	}
	return g, nil
}

// Adopt puts a controller on the clock of a manager of NewManager that is not given to
// its Add: one of controller.NewUnmanaged, before it starts. The controller counts as
// starting from the moment it makes its queue. It is an error if the controller cannot
// be put there. A manager on the machine's time has nothing to adopt.
func Adopt(mgr manager.Manager, controller any) error {
	m, ok := mgr.(interface{ adopt(controller any) error })
	if !ok {
		return nil
	}
	return m.adopt(controller)
}

func (w *world) adopt(controller any) error {
	fields, err := fieldsOf(controller)
	if err != nil {
		return err
	}
	if fields == nil {
		return fmt.Errorf("putting %T on the cluster's clock: it is no controller of controller-runtime's", controller)
	}
	own := &token{}
	return w.adapt(fields, hooks{
		made:  func() { w.starting.begin(own) },
		works: func() { w.starting.end(own) },
	})
}

// hooks are called when a controller makes its queue, and when its first worker asks for
// a request or the queue has been shut down.
type hooks struct{ made, works func() }

func (w *world) adapt(c *controllerFields, h hooks) error {
	for _, adapt := range w.adapters {
		if adapt(w, c, h) {
			return nil
		}
	}
	return fmt.Errorf("putting the controller %s on the cluster's clock: give NewManager the option ctrltest.Requests[%s]()", c.name, c.requestType())
}

// gated is a runnable that starts when the manager leads, if it needs to, and counts as
// starting until it works.
type gated struct {
	manager.Runnable
	world *world
	leads bool
	// tellsWhenItWorks: works is called then. Of other runnables that is not known: they
	// count until they are started.
	tellsWhenItWorks bool
	token            token
}

// NeedLeaderElection tells controller-runtime when to start it.
func (g *gated) NeedLeaderElection() bool { return g.leads }

func (g *gated) Start(ctx context.Context) error {
	defer g.works()
	if g.leads && !g.world.leads(ctx, g) {
		return nil
	}
	if !g.tellsWhenItWorks {
		g.works()
	}
	return g.Runnable.Start(ctx)
}

// works ends what starting counts.
func (g *gated) works() { g.world.starting.end(&g.token) }

// leads waits until the manager leads; false: it never will.
func (w *world) leads(ctx context.Context, g *gated) bool {
	if w.election == nil {
		return true
	}
	w.starting.awaitLead(&g.token)
	select {
	case <-w.election.elected:
		return true
	case <-ctx.Done():
		return false
	}
}

// gatedWarm is a gated runnable that starts some of its work before.
type gatedWarm struct {
	*gated
	warm warmsUp
}

// Warmup is the runnable's own.
func (g *gatedWarm) Warmup(ctx context.Context) error { return g.warm.Warmup(ctx) }
