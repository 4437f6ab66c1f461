package hunt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/scenarios"
)

// machineLimit bounds one run in machine time.
const machineLimit = 2 * time.Minute

// outcome is how a run ended.
type outcome struct {
	disturbances []Disturbance
	calls        []Call
	watched      map[string]bool
	// acts can be done by users in the run, if it was undisturbed.
	acts []Disturbance
	// void says that the end of the run says nothing.
	void bool
	// unmet are the disturbances whose write did not occur.
	unmet []Disturbance
	// failure is why the run ended early, or what it violated; empty if it did not.
	failure string
	// state are the objects at the end.
	state state
	// record is the record of a scenario's run; nil if there is none, or if it is not kept.
	record *runrecord.Run
	// late counts the operator's writes in the last part of the run, in which it should rest. If they are many, swings shows the last.
	late   int
	swings []string
	// conduct has the misdeeds of the operator on its way.
	conduct conduct
	// touched are the resources that were written since the operator's start, writers the controllers that wrote, kinds the kinds of the
	// objects at the end, and served what the API server serves, in an undisturbed run on a whole cluster.
	touched map[schema.GroupVersionResource]bool
	writers map[string]bool
	kinds   map[schema.GroupVersionResource]schema.GroupKind
	// behind are the objects at the end whose statuses are of older generations.
	behind map[string]string
	served []schema.GroupVersionResource
}

// trial is one run.
type trial struct {
	*hunter
	t       *trialTB
	cluster *minikcmtest.Cluster
	course  *course
	stop    func() error
	seed    uint64
	steps   []Step
	// parts are the parts of the cluster; nil: all.
	parts *parts
	out   *outcome
}

// try runs the steps of the workload with disturbances.
func (h *hunter) try(seed uint64, steps []Step, disturbances []Disturbance) *outcome {
	return h.tryOn(nil, seed, steps, disturbances)
}

// tryOn is try on a cluster of some parts; nil: all.
func (h *hunter) tryOn(p *parts, seed uint64, steps []Step, disturbances []Disturbance) *outcome {
	tb := h.newTB()
	out := &outcome{disturbances: disturbances}
	tb.within(func() {
		r := &trial{hunter: h, t: tb, seed: seed, steps: steps, parts: p, out: out}
		if err := r.run(tb.Context()); err != nil {
			tb.Errorf("%v", err)
		}
	})
	out.failure = tb.failure()
	return out
}

func (r *trial) run(ctx context.Context) error {
	scenario, err := r.workload.read(r.steps)
	if err != nil {
		return err
	}
	r.cluster = r.newCluster(r.t, r.seed, scenario, r.parts)
	if len(r.operator.CRDs) > 0 {
		r.cluster.CreateCRDs(r.operator.CRDs...)
	}
	r.cluster.Settle() // what the cluster does for itself comes before the operator's start
	r.course = newCourse(r.cluster.Cluster, r.operator.User, r.out.disturbances)
	r.cluster.ObserveReconciles(r.course.reconciled)
	r.cluster.WrapClients(func(user string, next http.RoundTripper) http.RoundTripper {
		if user != r.operator.User {
			return next
		}
		return &connection{life: r.course.current(), next: next}
	})
	defer r.note()
	if err := r.begin(); err != nil {
		return err
	}
	rest := r.workload.rest()
	if scenario != nil {
		err = r.runScenario(ctx, scenario)
	} else if err = r.runSteps(ctx); err == nil {
		err = r.pass(ctx, rest)
	}
	if err != nil {
		return err
	}
	before := len(r.course.list())
	if err := r.pass(ctx, rest/10); err != nil {
		return err
	}
	r.out.late = len(r.course.list()) - before
	if r.workload.AtEnd != nil {
		if err := r.workload.AtEnd(ctx, r.cluster); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	if err := r.course.capture(ctx, r.out, r.parts.reads(), r.ignore); err != nil {
		return err
	}
	if len(r.out.disturbances) == 0 && r.parts == nil {
		if r.out.served, err = servedResources(r.cluster.Client().Discovery()); err != nil {
			return err
		}
	}
	r.course.witness(r.out, r.operator.User, rest*3/5)
	return r.course.propose(ctx, r.out)
}

func (r *trial) runSteps(ctx context.Context) error {
	for _, step := range r.steps {
		if err := step.Do(ctx, r.cluster); err != nil {
			return fmt.Errorf("the step %q: %w", step.Name, err)
		}
		if err := r.pass(ctx, r.workload.settle()); err != nil {
			return err
		}
	}
	return nil
}

// newCluster starts a cluster, as a scenario describes it unless that is nil. All clusters of a hunt have one identity, so that they
// differ in nothing but what happens in them.
func (h *hunter) newCluster(t testing.TB, seed uint64, scenario *scenarios.Scenario, p *parts) *minikcmtest.Cluster {
	t.Helper()
	var opts []minikcmtest.Option
	if scenario != nil {
		described, err := scenarios.ClusterOptions(scenario)
		if err != nil {
			t.Fatal(err)
		}
		opts = append(opts, minikcmtest.WithOptions(func(o *minikcm.Options) { *o = described }))
	}
	opts = append(append(opts, minikcmtest.WithVirtualTime()), h.cluster...)
	return minikcmtest.New(t, append(opts, minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Driven, o.Seed, o.Security.Identity = true, seed, h.identity
		p.apply(o)
	}))...)
}

// note keeps what the operator did, however the run ends.
func (r *trial) note() {
	if err := r.course.note(r.out); err != nil {
		r.t.Errorf("%v", err)
	}
}

// note keeps what the operator did in an outcome. The error is about a request that could not be read.
func (c *course) note(out *outcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out.calls, out.watched, out.unmet, out.touched, out.writers = c.calls, c.watched, c.planned, c.touched, c.writers
	if c.undoing > 0 { // the run has ended before an act was over, which is the user's fault
		out.unmet = append(out.unmet, out.disturbances...)
		out.void = true
	}
	return c.failure
}

// begin starts the operator. Its Start may end its goroutine, which must not be the one that runs the scenario.
func (r *trial) begin() error {
	r.course.begins()
	begun := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.t.guarded(func() {
			r.stop = r.operator.Start(r.t, r.cluster)
			begun = true
		})
	}()
	<-done
	if !begun {
		return errors.New("the operator does not start")
	}
	return nil
}

// pass lets d of the cluster's time pass, in which the operator is started again when it has crashed.
func (r *trial) pass(ctx context.Context, d time.Duration) error {
	end := r.cluster.Clock().Now().Add(d)
	return r.passUntil(ctx, func() bool { return !r.cluster.Clock().Now().Before(end) }, func(ctx context.Context, raise func()) {
		timer := r.cluster.Clock().AfterFunc(end.Sub(r.cluster.Clock().Now()), raise)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
}

// passUntil lets time pass until over returns true, in which the operator is started again when it has crashed. arm gets a function
// that leads to another call of over.
func (r *trial) passUntil(ctx context.Context, over func() bool, arm func(ctx context.Context, raise func())) error {
	for {
		crashed, err := r.passLife(ctx, over, arm)
		if err != nil || !crashed {
			return err
		}
		if err := r.halt(ctx); err != nil {
			return err
		}
		if err := r.cluster.Advance(ctx, restartDelay); err != nil {
			return fmt.Errorf("while the operator is away: %w", err)
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
}

// passLife lets time pass until over returns true, or until the operator crashes.
func (r *trial) passLife(ctx context.Context, over func() bool, arm func(ctx context.Context, raise func())) (crashed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, machineLimit)
	defer cancel()
	err = r.cluster.Until(ctx, func(ctx context.Context) (bool, error) {
		if crashed = r.course.hasCrashed(); crashed {
			return true, nil
		}
		r.course.actDue(ctx)
		if r.workload.Always != nil {
			if err := r.workload.Always(ctx, r.cluster); err != nil {
				return true, fmt.Errorf("always: %w", err)
			}
		}
		return over(), nil
	}, func(raise func()) {
		r.course.wakes(raise)
		arm(ctx, raise)
	})
	r.course.wakes(func() {})
	if err != nil {
		return false, fmt.Errorf("%w (in flight: %s)", err, r.cluster.Ledger())
	}
	return crashed, nil
}

// halt returns when the crashed operator has ended. No time passes, but work in flight goes on.
func (r *trial) halt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, machineLimit)
	defer cancel()
	stopping := inflight.Begin(r.cluster.Ledger(), inflight.Start)
	ended := make(chan struct{})
	go func() {
		defer stopping.End()
		defer close(ended)
		_ = r.stop() // its requests were refused: an error says nothing new
	}()
	if err := r.cluster.Wait(ctx, ended); err != nil {
		return fmt.Errorf("waiting for the end of the operator: %w (in flight: %s)", err, r.cluster.Ledger())
	}
	return nil
}

func (c *course) current() *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life
}

func (c *course) list() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// wakes sets what awake calls.
func (c *course) wakes(raise func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = raise
}

// awake makes the driver look at the course.
func (c *course) awake() {
	c.mu.Lock()
	wake := c.wake
	c.mu.Unlock()
	wake()
}
