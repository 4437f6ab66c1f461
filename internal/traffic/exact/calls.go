package exact

import (
	"math/rand/v2"
	"slices"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
)

// route is a stream of requests from one source.
type route struct {
	source traffic.Source
	client traffic.Client
	began  time.Duration
	random *rand.Rand
	// count is the place of the next arrival, in requests of the mean.
	count float64

	targets []traffic.Target
	// shares are the sums of the weights of the targets. isEven means that all weights are equal.
	shares []float64
	isEven bool
	// sent is the share of the source's requests that are sent, and credit what is left of it for requests at even distances.
	sent, credit float64
	// idle are the servers of the connections that are kept.
	idle []*station

	account traffic.Account
	open    int
	result  traffic.Result
}

// call is a request as its client sees it.
type call struct {
	route int32
	// attempt counts from 0.
	attempt int32
	// began is when the first attempt began, and since the present one.
	began, since time.Duration
	// cause and where are why the attempt fails, when it is known before.
	cause traffic.Cause
	where string
}

// arrive sends a new request.
func (e *Engine) arrive(number int) {
	r := e.routes[number]
	if !r.sends() {
		e.schedule(r, number)
		return
	}
	r.result.Requests++
	r.open++
	r.account.Deposit(&r.client)
	i := e.calls.add(call{route: int32(number), began: e.now})
	e.attempt(i)
	e.schedule(r, number)
}

// sends reports whether the next request of the source is sent.
func (r *route) sends() bool {
	switch {
	case r.sent >= 1:
		return true
	case !r.source.Even:
		return r.random.Float64() < r.sent
	}
	r.credit += r.sent
	sends := r.credit >= 1-1e-9
	if sends {
		r.credit--
	}
	return sends
}

// attempt begins an attempt of a call.
func (e *Engine) attempt(i int32) {
	c := e.calls.get(i)
	r := e.routes[c.route]
	if r.sent == 0 { // its client is gone
		r.result.Requests--
		e.end(i, r)
		return
	}
	c.since, c.cause, c.where = e.now, "", ""
	s, target := r.connect(e)
	if s == nil {
		after := target.After
		if r.client.Timeout > 0 {
			after = min(after, r.client.Timeout)
		}
		if after == 0 {
			e.failed(i, target.Cause, target.Where)
			return
		}
		c.cause, c.where = target.Cause, target.Where
		e.events.add(event{at: e.now + after, of: i, turn: e.calls.turn(i), do: fail})
		return
	}
	c.where = s.name
	if !e.submit(s, i) {
		r.keep(s)
		e.failed(i, traffic.QueueFull, s.name)
		return
	}
	if r.client.Timeout > 0 {
		e.events.add(event{at: e.now + r.client.Timeout, of: i, turn: e.calls.turn(i), do: expire})
	}
}

// connect returns the server that gets the next request, or why there is none.
func (r *route) connect(e *Engine) (*station, traffic.Target) {
	for n := len(r.idle); n > 0; n = len(r.idle) {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		if !s.ended && !s.draining { // the server has closed it
			return s, traffic.Target{}
		}
	}
	if len(r.targets) == 0 {
		return nil, traffic.Target{Cause: traffic.NoEndpoint}
	}
	n := 0
	if len(r.targets) > 1 {
		if r.isEven {
			n = r.random.IntN(len(r.targets))
		} else {
			n, _ = slices.BinarySearch(r.shares, r.random.Float64()*r.shares[len(r.shares)-1])
			n = min(n, len(r.targets)-1)
		}
	}
	target := r.targets[n]
	if target.Cause != "" {
		return nil, target
	}
	s := e.stations[target.Station]
	if s.ended {
		return nil, traffic.Target{Cause: traffic.Refused, Where: s.name}
	}
	return s, target
}

// keep keeps a connection for a further request.
func (r *route) keep(s *station) {
	if len(r.idle) < r.client.Connections && !s.ended {
		r.idle = append(r.idle, s)
	}
}

// answer brings the answer of a server to a call.
func (e *Engine) answer(i int32, s *station, isError bool) {
	c := e.calls.get(i)
	r := e.routes[c.route]
	at := e.now + r.client.RoundTrip
	if r.client.Timeout > 0 && at > c.since+r.client.Timeout {
		return // it comes too late
	}
	r.keep(s)
	if isError {
		e.failed(i, traffic.ServerError, s.name)
		return
	}
	r.result.Succeed(at-c.began, 1)
	e.end(i, r)
}

// end removes a call that has its end.
func (e *Engine) end(i int32, r *route) {
	r.open--
	e.calls.remove(i)
}

// proceed handles an event of a call.
func (e *Engine) proceed(i int32, do action) {
	c := e.calls.get(i)
	switch do {
	case again:
		e.attempt(i)
	case expire:
		e.failed(i, traffic.TimedOut, c.where)
	default:
		e.failed(i, c.cause, c.where)
	}
}

// failed ends the present attempt of a call, and begins or prepares the next one if there may be one.
func (e *Engine) failed(i int32, cause traffic.Cause, where string) {
	c := e.calls.get(i)
	r := e.routes[c.route]
	e.calls.next(i) // what was to come of the attempt does not
	if int(c.attempt) < r.client.Retries {
		if r.account.Take(&r.client) {
			r.result.Retries++
			wait := r.client.Wait(int(c.attempt))
			c.attempt++
			e.events.add(event{at: e.now + wait, of: i, turn: e.calls.turn(i), do: again})
			return
		}
		r.result.Withheld++
	}
	r.result.Fail(cause, where, c.since, 1)
	e.end(i, r)
}
