package sending

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/exact"
	"minikcm.dev/minikcm/internal/traffic/flow"
	"minikcm.dev/minikcm/internal/traffic/rehearsal"
)

// Sending is the traffic of a cluster; the zero value sends none. It is computed at the end of each instant in which something has changed
// that may matter, and when it is asked for: no goroutine and no timer exists for a request.
type Sending struct {
	mu     sync.Mutex
	modes  map[string]*rehearsal.Rehearsal
	routes []*route
	clock  clock.Clock
	// stop ends the watch for changes.
	stop context.CancelFunc
	// ended means that no route may begin any more.
	ended bool
	// due means that it will be computed at the end of this instant.
	due atomic.Bool
}

// errEnded is the error of a route that begins after End, in the last steps of a scenario.
var errEnded = errors.New("traffic has no place in finally: it ends before, with the steps")

// route is a route and its description.
type route struct {
	*rehearsal.Route
	of   *rehearsal.Rehearsal
	spec *spec.Traffic
}

// Begin begins a route, and the watch for changes with the first one. Times of failures count from begun. namespace converts a namespace
// of t. failed is called with an error that ends the watch. The error of Begin is a *reach.InvalidError if t has no sense.
func (s *Sending) Begin(ctx context.Context, cluster *minikcm.Cluster, begun time.Time, t *spec.Traffic, namespace func(string) string, failed func(error)) error {
	kubelets := cluster.Kubelets()
	watching, err := s.watch(ctx)
	if err != nil {
		return err
	}
	if watching != nil {
		if err := kubelets.FollowTraffic(watching, func() { s.changed(watching, cluster, failed) }); err != nil {
			return fmt.Errorf("following the network for traffic: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = cluster.Clock()
	of := s.modes[t.Mode]
	if of == nil {
		var engine rehearsal.Engine = exact.New(cluster.Seed())
		if t.Mode == spec.TrafficFlow {
			engine = flow.New()
		}
		of = rehearsal.New(engine, begun)
		if s.modes == nil {
			s.modes = map[string]*rehearsal.Rehearsal{}
		}
		s.modes[t.Mode] = of
	}
	ask := t.Ask(namespace)
	begunRoute, err := of.Begin(ctx, s.clock.Now(), t.Sent(), t.SentBy(), func(ctx context.Context) ([]traffic.Way, error) {
		own := *ask
		return kubelets.TrafficWays(ctx, &own)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	s.routes = append(s.routes, &route{begunRoute, of, t})
	return nil
}

// watch returns the context of the watch for changes, which the caller begins; nil: it has begun. The mutex must not be held while it begins.
func (s *Sending) watch(ctx context.Context) (watching context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errEnded
	}
	if s.stop != nil {
		return nil, nil
	}
	watching, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	return watching, nil
}

// changed computes the traffic when all other work of this instant is done.
func (s *Sending) changed(ctx context.Context, cluster *minikcm.Cluster, failed func(error)) {
	if s.due.Swap(true) {
		return
	}
	inflight.AtLast(cluster.Ledger(), inflight.Action, "traffic", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.due.Store(false)
		for _, of := range []*rehearsal.Rehearsal{s.modes[spec.TrafficExact], s.modes[spec.TrafficFlow]} {
			if of == nil || ctx.Err() != nil {
				continue
			}
			if err := of.Update(ctx, cluster.Clock().Now()); err != nil && ctx.Err() == nil {
				failed(fmt.Errorf("following traffic: %w", err))
			}
		}
	})
}

// End ends all routes, and returns what became of them.
func (s *Sending) End() []runrecord.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.stop != nil {
		s.stop()
	}
	var all []runrecord.Traffic
	for _, r := range s.routes {
		result := r.of.Result(r.Route, s.clock.Now())
		t := runrecord.TrafficOf(result)
		t.Name, t.From, t.To, t.Objectives = r.spec.Name, r.spec.From, r.spec.To, judge(r.spec.Objectives(), result)
		t.Warnings = r.of.Warnings(r.Route)
		for i := range t.Failures {
			f := &t.Failures[i]
			for _, event := range r.of.Because(r.Route, f.Cause, f.Where) {
				f.Because = append(f.Because, runrecord.Note{At: event.At, Text: event.Text})
			}
		}
		all = append(all, t)
	}
	return all
}
