package flow

import (
	"slices"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

// The lengths of steps: the usual one, and the shorter one for some time after a change of targets or servers, when it matters which
// request was how early.
const (
	tick      = time.Second
	shortTick = tick / 10
	unsettled = 10 * time.Second
)

// Engine computes the requests of routes to stations. Times are since its beginning. It is not safe for concurrent use.
type Engine struct {
	now      time.Duration
	changed  time.Duration
	routes   []*route
	stations []*station
}

// New returns an engine without routes and stations.
func New() *Engine { return &Engine{} }

// route is a stream of requests from one source.
type route struct {
	source  traffic.Source
	client  traffic.Client
	began   time.Duration
	targets []traffic.Target
	weight  float64
	// sent is the share of the source's requests that are sent.
	sent float64
	// retries are the attempts to come, in no order.
	retries []batch
	budget  float64
	// answered are the answers that the result does not have yet, and known their places in it.
	answered []answers
	known    map[answerKey]int
	result   traffic.Result
}

// answers are successful answers whose times have one shape, after the attempts before have taken some time.
type answers struct {
	answerKey
	n float64
}

type answerKey struct {
	shape  *shape
	waited time.Duration
}

// answer counts n answers that come in time.
func (r *route) answer(key answerKey, n float64) {
	i, ok := r.known[key]
	if !ok {
		if len(r.answered) >= maxAnswers {
			r.settle()
		}
		i = len(r.answered)
		r.answered, r.known[key] = append(r.answered, answers{answerKey: key}), i
	}
	r.answered[i].n += n / max(1-key.shape.above(r.patience()), 1e-9)
}

// maxAnswers bounds what is kept until it is added to a result.
const maxAnswers = 10_000

// settle adds what is kept to the result.
func (r *route) settle() {
	var total latency.Histogram
	for _, of := range r.answered {
		of.shape.Each(func(d time.Duration, share float64) {
			if d <= r.patience() {
				total.Add(of.waited+d+r.client.RoundTrip, of.n*share)
			}
		})
	}
	r.result.Latency.AddAll(&total, 1)
	clear(r.known)
	r.answered = r.answered[:0]
}

// batch is requests whose next attempt is due.
type batch struct {
	due time.Duration
	n   float64
	// attempt counts from 0, and waited is the time since the first one.
	attempt int
	waited  time.Duration
}

// AddRoute adds a route whose requests begin now, and returns its number. They fail with the cause NoEndpoint until Point.
func (e *Engine) AddRoute(source traffic.Source, client traffic.Client) int {
	e.routes = append(e.routes, &route{source: source, client: client, began: e.now, budget: traffic.BudgetMost, sent: 1, known: map[answerKey]int{}})
	return len(e.routes) - 1
}

// Point replaces the targets of a route's connections.
func (e *Engine) Point(number int, targets []traffic.Target) {
	e.changed = e.now
	r := e.routes[number]
	r.targets, r.weight = targets, 0
	for _, t := range targets {
		r.weight += t.Weight
	}
}

// Send says which share of the requests of a route is sent from now on, from 0 to 1. The others do not exist: their sources do not run.
func (e *Engine) Send(number int, share float64) { e.routes[number].sent = share }

// Result returns what became of a route's requests. It must not be changed, and grows with Advance. Requests that have no end yet are
// counted with the one that they will have if nothing changes.
func (e *Engine) Result(number int) *traffic.Result {
	e.routes[number].settle()
	return &e.routes[number].result
}

// AddStation adds a server that has started so long ago, and returns its number. name says in words which it is.
func (e *Engine) AddStation(name string, profile traffic.Profile, age time.Duration) int {
	e.stations = append(e.stations, newStation(name, profile, e.now-age))
	return len(e.stations) - 1
}

// End ends a server. The requests that it has are reset or, if it hangs, get no answer.
func (e *Engine) End(number int) {
	e.changed = e.now
	s := e.stations[number]
	if !s.hanging {
		e.withdraw(number, traffic.Reset, 0)
	}
	s.ended = true
}

// Drain lets a server finish the requests that it has. They are counted as answered already.
func (e *Engine) Drain(int) { e.changed = e.now }

// Hang lets a server answer nothing: requests wait for their time-outs. With false, it goes on.
func (e *Engine) Hang(number int, hangs bool) {
	e.changed = e.now
	s := e.stations[number]
	if hangs && !s.hanging {
		e.withdraw(number, traffic.TimedOut, 1)
	}
	s.hanging = hangs
}

// withdraw lets the requests fail that a server has, which were counted as answered. late says how many time-outs it takes.
func (e *Engine) withdraw(number int, cause traffic.Cause, late time.Duration) {
	s := e.stations[number]
	lost, shape := s.present, s.answers()
	s.present, s.backlog = 0, 0
	total := 0.0
	for _, n := range s.sent {
		total += n
	}
	for i, r := range e.routes {
		if i >= len(s.sent) || total == 0 {
			break
		}
		n := lost * s.sent[i] / total
		answered := n * (1 - s.profile.ErrorRate) * (1 - shape.above(r.patience()))
		r.result.Succeeded -= answered
		r.answer(answerKey{shape, 0}, -answered)
		r.fail(&batch{due: e.now, n: answered}, cause, s.name, late*r.client.Timeout)
	}
}

// patience is how long a client waits for the server itself.
func (r *route) patience() time.Duration {
	if r.client.Timeout == 0 {
		return 1<<63 - 1
	}
	return max(0, r.client.Timeout-r.client.RoundTrip)
}

// Advance computes everything until a time, which must not be before the last one.
func (e *Engine) Advance(to time.Duration) {
	for e.now < to {
		length := tick
		if e.now-e.changed < unsettled {
			length = shortTick
		}
		e.step(min(e.now+length, to))
	}
}

// step computes what is from now until a time.
func (e *Engine) step(until time.Duration) {
	type part struct {
		route  *route
		batch  batch
		target *traffic.Target
	}
	var parts []part
	for _, s := range e.stations {
		clear(s.sent)
		s.inflow = 0
	}
	for number, r := range e.routes {
		for _, b := range r.arriving(e.now, until) {
			if len(r.targets) == 0 {
				r.fail(&b, traffic.NoEndpoint, "", 0)
			}
			for i := range r.targets {
				target, share := &r.targets[i], b
				share.n *= target.Weight / r.weight
				if target.Cause == "" {
					e.stations[target.Station].receive(number, share.n)
				}
				parts = append(parts, part{r, share, target})
			}
		}
	}
	for _, s := range e.stations {
		s.step((until - e.now).Seconds(), e.now)
	}
	for i := range parts {
		p := &parts[i]
		if p.target.Cause != "" {
			after := p.target.After
			if p.route.client.Timeout > 0 {
				after = min(after, p.route.client.Timeout)
			}
			p.route.fail(&p.batch, p.target.Cause, p.target.Where, after)
			continue
		}
		p.route.serve(&p.batch, e.stations[p.target.Station])
	}
	e.now = until
}

// arriving returns the attempts of a step: new requests, and retries that are due. They are taken to come in its middle.
func (r *route) arriving(from, until time.Duration) []batch {
	middle := from + (until-from)/2
	var list []batch
	begin, end := from-r.began, until-r.began
	if limit := r.source.For; limit > 0 {
		begin, end = min(begin, limit), min(end, limit)
	}
	n := (r.source.Rate.Count(end) - r.source.Rate.Count(begin)) * r.sent
	r.result.Requests += n
	r.budget = min(traffic.BudgetMost, r.budget+r.client.Budget*n)
	list = append(list, batch{due: middle, n: n})
	r.retries = slices.DeleteFunc(r.retries, func(b batch) bool {
		switch {
		case b.due >= until:
		case r.sent == 0: // their clients are gone
			r.result.Requests -= b.n
		default:
			list = append(list, b)
		}
		return b.due < until
	})
	return list
}

// serve counts what becomes of requests at a server.
func (r *route) serve(b *batch, s *station) {
	switch {
	case b.n == 0:
		return
	case s.ended:
		r.fail(b, traffic.Refused, s.name, 0)
		return
	case s.hanging:
		if r.client.Timeout > 0 {
			r.fail(b, traffic.TimedOut, s.name, r.client.Timeout)
		}
		return
	}
	part := func(share float64) *batch {
		p := *b
		p.n *= share
		return &p
	}
	r.fail(part(s.blocked), traffic.QueueFull, s.name, 0)
	shape := s.answers()
	late := shape.above(r.patience())
	r.fail(part((1-s.blocked)*late), traffic.TimedOut, s.name, r.client.Timeout)
	answered := part((1 - s.blocked) * (1 - late))
	r.fail(&batch{b.due, answered.n * s.profile.ErrorRate, b.attempt, b.waited}, traffic.ServerError, s.name, r.client.RoundTrip+time.Duration(shape.Mean()*float64(time.Second)))
	n := answered.n * (1 - s.profile.ErrorRate)
	if n == 0 {
		return
	}
	r.result.Succeeded += n
	r.answer(answerKey{shape, b.waited}, n)
}

// fail lets attempts fail after a time. Those that may be repeated are, and the others count as failed.
func (r *route) fail(b *batch, cause traffic.Cause, where string, after time.Duration) {
	if b.n <= 0 {
		return
	}
	n := 0.0
	if b.attempt < r.client.Retries {
		n = b.n
		if r.client.Budget > 0 {
			n = min(n, r.budget)
			r.budget -= n
			r.result.Withheld += b.n - n
		}
		r.result.Retries += n
		wait := after + r.client.Wait(b.attempt)
		if n > 0 {
			r.retries = append(r.retries, batch{b.due + wait, n, b.attempt + 1, b.waited + wait})
		}
	}
	if n < b.n {
		r.result.Fail(cause, where, b.due, b.n-n)
	}
}
