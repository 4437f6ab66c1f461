package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
)

// Engine computes requests: package exact or flow.
type Engine interface {
	AddRoute(source traffic.Source, client traffic.Client) int
	Point(route int, targets []traffic.Target)
	Send(route int, share float64)
	Result(route int) *traffic.Result
	AddStation(name string, profile traffic.Profile, age time.Duration) int
	Drain(station int)
	End(station int)
	Hang(station int, hangs bool)
	Advance(to time.Duration)
}

// Rehearsal is the traffic of a cluster. Its methods may be called from several goroutines.
type Rehearsal struct {
	mu      sync.Mutex
	engine  Engine
	began   time.Time
	routes  []*Route
	servers map[string]*server
	// order has the servers in the order in which they were found, so that equal runs treat them equally.
	order []*server
	// ends have what became of servers, by name.
	ends map[string]*ending
}

// ending says when a server was deleted, when it ended and when it fell silent; nil: it did not.
type ending struct{ deleted, ended, silent *time.Duration }

// maxEnds bounds the servers whose ends are remembered. When it is reached, all are forgotten.
const maxEnds = 10_000

// Route is a stream of requests.
type Route struct {
	number int
	ways   func(ctx context.Context) ([]traffic.Way, error)
	// failing are the failures that connections had by where they led, and left when none led to a place any more.
	failing map[failure]*span
	left    map[string]*time.Duration
	// had says that there was a source, and a target; missing is why there is none.
	had     struct{ source, target bool }
	missing struct{ source, target string }
	// invalid are the problems with descriptions of servers, in the order in which they were found.
	invalid []string
}

// failure is a cause at a place.
type failure struct {
	cause traffic.Cause
	where string
}

// span says from when on something was so the first time, until when the last time (nil: it still is), and how many times.
type span struct {
	since time.Duration
	until *time.Duration
	times int
}

// server is a server that requests were sent to.
type server struct {
	traffic.Server
	number int
	state  traffic.State
	ending *ending
}

// New returns a rehearsal without traffic, which begins at a time.
func New(engine Engine, began time.Time) *Rehearsal {
	return &Rehearsal{engine: engine, began: began, servers: map[string]*server{}, ends: map[string]*ending{}}
}

// Begin begins to send requests. ways says where they lead at present.
func (r *Rehearsal) Begin(ctx context.Context, now time.Time, source traffic.Source, client traffic.Client, ways func(ctx context.Context) ([]traffic.Way, error)) (*Route, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.Advance(now.Sub(r.began))
	route := &Route{number: r.engine.AddRoute(source, client), ways: ways, failing: map[failure]*span{}, left: map[string]*time.Duration{}}
	r.routes = append(r.routes, route)
	return route, r.point(ctx, route, now)
}

// Update computes the requests until a time, and then asks what the world is like from there on.
func (r *Rehearsal) Update(ctx context.Context, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.Advance(now.Sub(r.began))
	open := r.order[:0]
	for _, s := range r.order {
		r.follow(s, now)
		if s.state == traffic.Ended || s.state == traffic.Finished {
			delete(r.servers, s.ID())
		} else {
			open = append(open, s)
		}
	}
	r.order = open
	for _, route := range r.routes {
		if err := r.point(ctx, route, now); err != nil {
			return err
		}
	}
	return nil
}

// follow makes the engine's server like the real one.
func (r *Rehearsal) follow(s *server, now time.Time) {
	state, at := s.State(), now.Sub(r.began)
	if s.ending.deleted == nil && s.Deleted() {
		s.ending.deleted = &at
	}
	if state == s.state {
		return
	}
	if s.state == traffic.Silent || state == traffic.Silent {
		r.engine.Hang(s.number, state == traffic.Silent)
	}
	switch state {
	case traffic.Finishing, traffic.Finished:
		r.engine.Drain(s.number)
	case traffic.Ended:
		r.engine.End(s.number)
	}
	switch state {
	case traffic.Silent:
		s.ending.silent = &at
	case traffic.Finishing, traffic.Finished, traffic.Ended:
		if s.ending.ended == nil {
			s.ending.ended = &at
		}
	}
	s.state = state
}

// point asks where a route's connections lead.
func (r *Rehearsal) point(ctx context.Context, route *Route, now time.Time) error {
	ways, err := route.ways(ctx)
	if err != nil {
		return err
	}
	var targets []traffic.Target
	places := map[traffic.Target]int{}
	sent := 1.0
	for _, w := range ways {
		route.meet(&w)
		if w.Cause == traffic.NoSource {
			sent -= w.Share
			continue
		}
		t := traffic.Target{Cause: w.Cause, After: w.After, Where: w.Where}
		if w.Server != nil {
			t = traffic.Target{Station: r.station(w.Server, now)}
		}
		i, ok := places[t]
		if !ok {
			i = len(targets)
			places[t] = i
			targets = append(targets, t)
		}
		targets[i].Weight += w.Share
	}
	if len(targets) == 0 || sent < 1e-9 {
		sent = 0
	}
	r.engine.Send(route.number, sent)
	r.engine.Point(route.number, targets)
	route.remember(ways, now.Sub(r.began))
	return nil
}

// maxInvalid bounds the problems with descriptions of servers that a route remembers.
const maxInvalid = 5

// meet notes whether a way has a source and a target, and what is wrong with its server.
func (route *Route) meet(w *traffic.Way) {
	switch w.Cause {
	case traffic.NoSource:
		route.missing.source = w.Where
		return
	case traffic.Unresolved:
		route.missing.target = w.Where
	default:
		route.had.target = true
	}
	route.had.source = true
	if w.Server == nil || w.Server.Invalid() == nil || len(route.invalid) >= maxInvalid {
		return
	}
	if text := fmt.Sprintf("%s: %v", w.Server.Name(), w.Server.Invalid()); !slices.Contains(route.invalid, text) {
		route.invalid = append(route.invalid, text)
	}
}

// Warnings says why the figures of a route may not be what was meant: its source or its target never existed, or descriptions of servers are
// not valid.
func (r *Rehearsal) Warnings(route *Route) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	if !route.had.source {
		all = append(all, "no request was sent, for there was no source: "+route.missing.source)
	} else if !route.had.target {
		all = append(all, "there was no target: "+route.missing.target)
	}
	return append(all, route.invalid...)
}

// remember notes which ways fail, and which places are left.
func (route *Route) remember(ways []traffic.Way, at time.Duration) {
	led, fails := map[string]bool{}, map[failure]bool{}
	for _, w := range ways {
		where := w.Where
		if w.Server != nil {
			where = w.Server.Name()
		}
		led[where] = true
		if w.Cause != "" && w.Cause != traffic.NoSource {
			fails[failure{w.Cause, where}] = true
		}
	}
	for where := range led {
		if _, ok := route.left[where]; ok || len(route.left) < maxEnds {
			route.left[where] = nil
		}
	}
	for where, left := range route.left {
		if left == nil && !led[where] {
			route.left[where] = &at
		}
	}
	for f := range fails {
		switch s := route.failing[f]; {
		case s == nil && len(route.failing) < maxEnds:
			route.failing[f] = &span{since: at, times: 1}
		case s != nil && s.until != nil:
			s.until = nil
			s.times++
		}
	}
	for f, s := range route.failing {
		if s.until == nil && !fails[f] {
			s.until = &at
		}
	}
}

// Event is something that led to failures.
type Event struct {
	At   time.Duration
	Text string
}

// Because says what led to the failures of a route for a cause at a place, in the order of time.
func (r *Rehearsal) Because(route *Route, cause traffic.Cause, where string) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Event
	add := func(at *time.Duration, text string) {
		if at != nil {
			list = append(list, Event{*at, text})
		}
	}
	e := r.ends[where]
	if e != nil {
		add(e.deleted, "it was deleted")
		add(e.silent, "its node was down or cut off")
		add(e.ended, "it ended, or took no more connections")
	}
	switch s := route.failing[failure{cause, where}]; {
	case e != nil && e.ended != nil:
		add(route.left[where], "from here on, no connection led there")
	case s != nil:
		since, until := "from here on, it was so", "until here"
		if s.times > 1 {
			since, until = fmt.Sprintf("it was so the first time of %d", s.times), "until here, for the last time"
		}
		add(&s.since, since)
		add(s.until, until)
	}
	slices.SortStableFunc(list, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return list
}

// station returns the engine's number of a server.
func (r *Rehearsal) station(of traffic.Server, now time.Time) int {
	s := r.servers[of.ID()]
	if s == nil {
		s = &server{Server: of, number: r.engine.AddStation(of.Name(), of.Profile(), max(0, now.Sub(of.Started()))), ending: &ending{}}
		r.servers[of.ID()] = s
		r.order = append(r.order, s)
		if len(r.ends) >= maxEnds {
			clear(r.ends)
		}
		r.ends[of.Name()] = s.ending
		r.follow(s, now)
	}
	return s.number
}

// Result computes the requests until a time, and returns what became of a route's. It must not be changed, nor kept until the next call.
func (r *Rehearsal) Result(route *Route, now time.Time) *traffic.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.Advance(now.Sub(r.began))
	return r.engine.Result(route.number)
}
