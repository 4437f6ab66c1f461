package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/exact"
	"minikcm.dev/minikcm/internal/traffic/flow"
	"minikcm.dev/minikcm/internal/traffic/rehearsal"
)

// sending is the traffic of a run. It is computed at the end of each instant in which something has changed that may matter, and when it is
// asked for: no goroutine and no timer exists for a request.
type sending struct {
	mu     sync.Mutex
	modes  map[string]*rehearsal.Rehearsal
	routes []*sentRoute
	// stop ends the watch for changes.
	stop context.CancelFunc
	// due means that it will be computed at the end of this instant.
	due atomic.Bool
}

// sentRoute is a route and the step that began it.
type sentRoute struct {
	*rehearsal.Route
	of   *rehearsal.Rehearsal
	step *Traffic
}

// beginTraffic begins a route, and the watch for changes with the first one.
func (r *run) beginTraffic(ctx context.Context, t *Traffic) error {
	s, kubelets := &r.sending, r.cluster.Kubelets()
	if watching := s.watch(ctx); watching != nil {
		if err := kubelets.FollowTraffic(watching, func() { r.trafficChanged(watching) }); err != nil {
			return fmt.Errorf("following the network for traffic: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.modes[t.Mode]
	if of == nil {
		var engine rehearsal.Engine = exact.New(r.seed)
		if t.Mode == trafficFlow {
			engine = flow.New()
		}
		of = rehearsal.New(engine, r.begun)
		if s.modes == nil {
			s.modes = map[string]*rehearsal.Rehearsal{}
		}
		s.modes[t.Mode] = of
	}
	ask := t.ask(r.kinds.Namespace)
	route, err := of.Begin(ctx, r.clock.Now(), t.source(), t.client(), func(ctx context.Context) ([]traffic.Way, error) {
		own := *ask
		return kubelets.TrafficWays(ctx, &own)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	s.routes = append(s.routes, &sentRoute{route, of, t})
	return nil
}

// watch returns the context of the watch for changes, which the caller begins; nil: it has begun. The mutex must not be held while it begins.
func (s *sending) watch(ctx context.Context) (watching context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return nil
	}
	watching, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return watching
}

// trafficChanged computes the traffic when all other work of this instant is done.
func (r *run) trafficChanged(ctx context.Context) {
	s := &r.sending
	if s.due.Swap(true) {
		return
	}
	inflight.AtLast(r.ledger, inflight.Action, "traffic", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.due.Store(false)
		for _, of := range []*rehearsal.Rehearsal{s.modes[trafficExact], s.modes[trafficFlow]} {
			if of == nil || ctx.Err() != nil {
				continue
			}
			if err := of.Update(ctx, r.clock.Now()); err != nil && ctx.Err() == nil {
				r.cancel(fmt.Errorf("following traffic: %w", err))
				r.raiseAll()
			}
		}
	})
}

// endTraffic ends all routes, reports what became of them, and returns an error for the objectives that were not met.
func (r *run) endTraffic() error {
	s := &r.sending
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return nil
	}
	s.stop()
	var errs []error
	for _, route := range s.routes {
		result := route.of.Result(route.Route, r.clock.Now())
		t := runrecord.TrafficOf(result)
		t.Name, t.From, t.To, t.Objectives = route.step.Name, route.step.From, route.step.To, judge(route.step.wanted, result)
		r.recorder.Traffic(t)
		for i := range t.Failures {
			f := &t.Failures[i]
			for _, event := range route.of.Because(route.Route, f.Where) {
				f.Because = append(f.Because, runrecord.Note{At: event.At, Text: event.Text})
			}
		}
		lines := report.TrafficLines(&t)
		for _, line := range lines {
			r.report(func(p Progress) { p.BackgroundNote("traffic", line) })
		}
		for _, o := range t.Objectives {
			errs = append(errs, r.judged(&t, o))
		}
	}
	return errors.Join(errs...)
}

// judged records whether an objective was met.
func (r *run) judged(t *runrecord.Traffic, o runrecord.Objective) error {
	title := fmt.Sprintf("objective of %s: %s", t.Name, o.Text)
	span := r.recorder.Begin(nil, runrecord.Check, title, 0)
	if o.Met {
		span.End(nil)
		return nil
	}
	err := fmt.Errorf("%s: it was %s", title, o.Got)
	r.recorder.Fail(span, runrecord.Failure{Check: title, Message: err.Error()})
	span.End(err)
	return err
}
