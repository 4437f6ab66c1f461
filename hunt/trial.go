package hunt

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/minikcmtest"
)

// machineLimit bounds one run in machine time.
const machineLimit = 2 * time.Minute

// outcome is how a run ended.
type outcome struct {
	disturbances []Disturbance
	calls        []Call
	watched      map[string]bool
	// unmet are the disturbances whose write did not occur.
	unmet []Disturbance
	// failure is why the run ended early, or what it violated; empty if it did not.
	failure string
	// state are the objects at the end.
	state state
	// late counts the operator's writes in the last part of the run, in which it should rest.
	late int
}

// trial is one run.
type trial struct {
	*hunter
	t       testing.TB
	cluster *minikcmtest.Cluster
	course  *course
	stop    func() error
	seed    uint64
	steps   []Step
	out     *outcome
}

// try runs the steps of the workload with disturbances.
func (h *hunter) try(seed uint64, steps []Step, disturbances []Disturbance) *outcome {
	out := &outcome{disturbances: disturbances}
	tb := newTrialTB(h.t)
	tb.within(func() {
		r := &trial{hunter: h, t: tb, seed: seed, steps: steps, out: out}
		r.run()
	})
	out.failure = tb.failure()
	return out
}

func (r *trial) run() {
	r.cluster = r.newCluster(r.t, r.seed)
	if len(r.operator.CRDs) > 0 {
		r.cluster.CreateCRDs(r.operator.CRDs...)
	}
	r.course = newCourse(r.cluster, r.out.disturbances)
	r.cluster.WrapClients(func(user string, next http.RoundTripper) http.RoundTripper {
		if user != r.operator.User {
			return next
		}
		return &connection{life: r.course.current(), next: next}
	})
	defer r.note()
	r.begin()
	for _, step := range r.steps {
		if err := step.Do(r.t.Context(), r.cluster); err != nil {
			r.t.Fatalf("the step %q: %v", step.Name, err)
		}
		r.pass(r.workload.settle())
	}
	rest := r.workload.rest()
	r.pass(rest)
	before := len(r.course.list())
	r.pass(rest / 10)
	r.out.late = len(r.course.list()) - before
	if r.workload.AtEnd != nil {
		if err := r.workload.AtEnd(r.t.Context(), r.cluster); err != nil {
			r.t.Errorf("at the end: %v", err)
		}
	}
	var err error
	if r.out.state, err = captureState(r.t.Context(), r.cluster, r.ignore); err != nil {
		r.t.Fatalf("reading the state at the end: %v", err)
	}
}

// newCluster starts a cluster. All clusters of a hunt have one identity, so that they differ in nothing but what happens in them.
func (h *hunter) newCluster(t testing.TB, seed uint64) *minikcmtest.Cluster {
	t.Helper()
	opts := append([]minikcmtest.Option{minikcmtest.WithVirtualTime()}, h.cluster...)
	return minikcmtest.New(t, append(opts, minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Driven, o.Seed, o.Security.Identity = true, seed, h.identity
	}))...)
}

// note keeps what the operator did, however the run ends.
func (r *trial) note() {
	c := r.course
	c.mu.Lock()
	defer c.mu.Unlock()
	r.out.calls, r.out.watched, r.out.unmet = c.calls, c.watched, c.planned
	if c.failure != nil {
		r.t.Errorf("%v", c.failure)
	}
}

// begin starts the operator.
func (r *trial) begin() {
	r.course.begins()
	r.stop = r.operator.Start(r.t, r.cluster)
}

// pass lets d of the cluster's time pass, in which the operator is started again when it has crashed.
func (r *trial) pass(d time.Duration) {
	end := r.cluster.Clock().Now().Add(d)
	for {
		crashed := r.passUntil(end)
		if !crashed {
			return
		}
		r.halt()
		if err := r.cluster.Advance(r.t.Context(), restartDelay); err != nil {
			r.t.Fatalf("while the operator is away: %v", err)
		}
		r.begin()
	}
}

// passUntil lets time pass until end, or until the operator crashes.
func (r *trial) passUntil(end time.Time) (crashed bool) {
	ctx, cancel := context.WithTimeout(r.t.Context(), machineLimit)
	defer cancel()
	err := r.cluster.Until(ctx, func(ctx context.Context) (bool, error) {
		if crashed = r.course.hasCrashed(); crashed {
			return true, nil
		}
		if r.workload.Always != nil {
			if err := r.workload.Always(ctx, r.cluster); err != nil {
				return true, fmt.Errorf("always: %w", err)
			}
		}
		return !r.cluster.Clock().Now().Before(end), nil
	}, func(raise func()) {
		r.course.wakes(raise)
		timer := r.cluster.Clock().AfterFunc(end.Sub(r.cluster.Clock().Now()), raise)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	r.course.wakes(func() {})
	if err != nil {
		r.t.Fatalf("%v (in flight: %s)", err, r.cluster.Ledger())
	}
	return crashed
}

// halt returns when the crashed operator has ended. No time passes, but work in flight goes on.
func (r *trial) halt() {
	ctx, cancel := context.WithTimeout(r.t.Context(), machineLimit)
	defer cancel()
	stopping := inflight.Begin(r.cluster.Ledger(), inflight.Start)
	ended := make(chan struct{})
	go func() {
		defer stopping.End()
		defer close(ended)
		_ = r.stop() // its requests were refused: an error says nothing new
	}()
	if err := r.cluster.Wait(ctx, ended); err != nil {
		r.t.Fatalf("waiting for the end of the operator: %v (in flight: %s)", err, r.cluster.Ledger())
	}
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

// wakes sets what is called when the operator crashes.
func (c *course) wakes(raise func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = raise
}
