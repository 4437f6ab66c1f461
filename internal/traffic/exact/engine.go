package exact

import (
	"math/rand/v2"
	"time"

	"minikcm.dev/minikcm/internal/hash"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/arrivals"
)

// Engine computes the requests of routes to stations. Times are since its beginning. It is not safe for concurrent use.
type Engine struct {
	seed     uint64
	now      time.Duration
	events   events
	routes   []*route
	stations []*station
	calls    pool[call]
	jobs     pool[job]
}

// New returns an engine without routes and stations.
func New(seed uint64) *Engine { return &Engine{seed: seed} }

// random returns the source of chance of the n-th part of a sort, so that parts that come later do not change what the others draw.
func (e *Engine) random(sort uint64, n int) *rand.Rand {
	return rand.New(rand.NewPCG(hash.Mix(e.seed, sort), uint64(n)))
}

// AddRoute adds a route whose requests begin now, and returns its number. They fail with the cause NoEndpoint until Point.
func (e *Engine) AddRoute(source traffic.Source, client traffic.Client) int {
	n := len(e.routes)
	r := &route{source: source, client: client, began: e.now, random: e.random(1, n), sent: 1}
	e.routes = append(e.routes, r)
	e.schedule(r, n)
	return n
}

// Point replaces the targets of a route's new connections.
func (e *Engine) Point(number int, targets []traffic.Target) {
	r := e.routes[number]
	r.targets, r.shares, r.isEven = targets, r.shares[:0], true
	sum := 0.0
	for _, t := range targets {
		sum += t.Weight
		r.shares = append(r.shares, sum)
		r.isEven = r.isEven && t.Weight == targets[0].Weight
	}
}

// Send says which share of the requests of a route is sent from now on, from 0 to 1. The others do not exist: their sources do not run.
func (e *Engine) Send(number int, share float64) { e.routes[number].sent = share }

// Result returns what became of a route's requests. It must not be changed, and grows with Advance.
func (e *Engine) Result(number int) *traffic.Result { return &e.routes[number].result }

// Open returns how many requests of a route have no end yet.
func (e *Engine) Open(number int) int { return e.routes[number].open }

// AddStation adds a server that has started so long ago, and returns its number. name says in words which it is.
func (e *Engine) AddStation(name string, profile traffic.Profile, age time.Duration) int {
	n := len(e.stations)
	e.stations = append(e.stations, &station{name: name, profile: profile, began: e.now - age, measured: e.now, random: e.random(2, n)})
	return n
}

// Drain lets a server finish the requests that it has. Kept connections to it are closed; new ones are the routes' targets.
func (e *Engine) Drain(number int) { e.stations[number].draining = true }

// End ends a server. The requests that it has are reset or, if it hangs, get no answer.
func (e *Engine) End(number int) {
	s := e.stations[number]
	s.measure(e.now)
	s.ended = true
	for _, list := range [][]int32{s.queue.all(), s.serving} {
		for _, j := range list {
			e.leave(j, s)
		}
	}
	s.queue, s.serving = ring{}, nil
}

// Hang lets a server answer nothing, without a word to its clients, as when its node is cut off or has no power: requests wait for their
// time-outs. With false, it goes on, and begins anew with the requests in service.
func (e *Engine) Hang(number int, hangs bool) {
	s := e.stations[number]
	if s.hanging == hangs {
		return
	}
	s.hanging = hangs
	for _, j := range s.serving {
		e.jobs.next(j)
		e.finishLater(j)
	}
}

// Load returns what a server had to do until now.
func (e *Engine) Load(number int) traffic.Load {
	s := e.stations[number]
	if !s.ended {
		s.measure(e.now)
	}
	return s.load
}

// Advance computes everything until a time, which must not be before the last one.
func (e *Engine) Advance(to time.Duration) {
	for {
		next, ok := e.events.next(to)
		if !ok {
			break
		}
		e.now = next.at
		e.handle(&next)
	}
	e.now = max(e.now, to)
}

func (e *Engine) handle(next *event) {
	switch next.do {
	case arrive:
		e.arrive(int(next.of))
	case complete:
		if e.jobs.turn(next.of) == next.turn {
			e.complete(next.of)
		}
	default:
		if e.calls.turn(next.of) == next.turn {
			e.proceed(next.of, next.do)
		}
	}
}

// schedule adds the next arrival of a route.
func (e *Engine) schedule(r *route, number int) {
	if r.source.Even {
		r.count++
	} else {
		r.count += r.random.ExpFloat64()
	}
	at := r.source.Rate.When(r.count)
	if r.source.For > 0 && at >= r.source.For {
		return
	}
	if at < arrivals.Never-r.began {
		e.events.add(event{at: max(r.began+at, e.now), of: int32(number), do: arrive})
	}
}

// pool keeps values by number, and gives the places of removed ones to others. Each has a turn, which changes when its place is given away,
// or by next.
type pool[T any] struct {
	list []struct {
		value T
		turn  uint32
	}
	free []int32
}

func (p *pool[T]) add(value T) int32 {
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		p.list[i].value = value
		return i
	}
	p.list = append(p.list, struct {
		value T
		turn  uint32
	}{value: value})
	return int32(len(p.list) - 1)
}

func (p *pool[T]) get(i int32) *T      { return &p.list[i].value }
func (p *pool[T]) turn(i int32) uint32 { return p.list[i].turn }
func (p *pool[T]) next(i int32)        { p.list[i].turn++ }
func (p *pool[T]) remove(i int32)      { p.next(i); p.free = append(p.free, i) }
