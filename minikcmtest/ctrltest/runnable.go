package ctrltest

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// hasCache is implemented by clusters, whose caches controller-runtime starts before other
// runnables.
type hasCache interface{ GetCache() cache.Cache }

// warmsUp is implemented by runnables that do some work before the manager leads.
type warmsUp interface {
	Warmup(ctx context.Context) error
}

// gate wraps a runnable so that it waits for the manager to lead, if it needs to, and counts
// as starting until it works. Clusters and webhook servers are not wrapped.
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
		g.reportsWork = true
	}
	w.starting.add(g)
	if warm, ok := r.(warmsUp); ok {
		return &gatedWarm{gated: g, warm: warm}, nil
	}
	return g, nil
}

// Adopt puts a controller that is not added to the manager on the manager's clock: one of
// controller.NewUnmanaged. Call it before the controller starts. The controller counts as
// starting from the moment it creates its queue. Adopt returns an error if the controller
// cannot run on the cluster's clock. It does nothing for a manager on real time.
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
		return fmt.Errorf("putting %T on the cluster's clock: it is not a controller of controller-runtime", controller)
	}
	own := &token{}
	return w.adapt(fields, hooks{
		made:  func() { w.starting.begin(own) },
		works: func() { w.starting.end(own) },
	})
}

// hooks are callbacks: made, when a controller creates its queue; works, when its first
// worker calls Get and when the queue shuts down.
type hooks struct{ made, works func() }

func (w *world) adapt(c *controllerFields, h hooks) error {
	for _, adapt := range w.adapters {
		if adapt(w, c, h) {
			return nil
		}
	}
	return fmt.Errorf("putting the controller %s on the cluster's clock: give NewManager the option ctrltest.Requests[%s]()", c.name, c.requestType())
}

// gated is a runnable that waits for the manager to lead, if it needs to, and counts as
// starting until it works.
type gated struct {
	manager.Runnable
	world *world
	leads bool
	// reportsWork is true for controllers, whose queue calls works when they work. Other
	// runnables do not report that: they count as starting until their Start is called.
	reportsWork bool
	token       token
}

// NeedLeaderElection reports to controller-runtime whether the runnable needs a leader.
func (g *gated) NeedLeaderElection() bool { return g.leads }

func (g *gated) Start(ctx context.Context) error {
	defer g.works()
	if g.leads && !g.world.leads(ctx, g) {
		return nil
	}
	if !g.reportsWork {
		g.works()
	}
	return g.Runnable.Start(ctx)
}

// works ends the count of the runnable as starting.
func (g *gated) works() { g.world.starting.end(&g.token) }

// leads waits until the manager leads. It returns false if ctx ends first.
func (w *world) leads(ctx context.Context, g *gated) bool {
	if w.election == nil {
		return true
	}
	w.starting.awaitLead(&g.token)
	select {
	case <-w.election.Elected():
		return true
	case <-ctx.Done():
		return false
	}
}

// gatedWarm is a gated runnable that does some of its work before the manager leads.
type gatedWarm struct {
	*gated
	warm warmsUp
}

// Warmup calls the runnable's Warmup.
func (g *gatedWarm) Warmup(ctx context.Context) error { return g.warm.Warmup(ctx) }
