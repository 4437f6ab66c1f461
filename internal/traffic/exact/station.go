package exact

import (
	"math"
	"math/rand/v2"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
)

// station is a server.
type station struct {
	name    string
	profile traffic.Profile
	began   time.Duration
	random  *rand.Rand

	serving []int32
	queue   ring

	ended, draining, hanging bool

	load     traffic.Load
	measured time.Duration
}

// job is a request at a server. The server finishes it also when the client has given up.
type job struct {
	station *station
	// call is the client's side, if its turn is still the same.
	call int32
	turn uint32
	// index is the job's place in the station's list of those in service.
	index int32
}

// measure adds to the load what has been since the last time.
func (s *station) measure(now time.Duration) {
	d := (now - s.measured).Seconds()
	s.load.Busy += d * float64(len(s.serving))
	s.load.Present += d * float64(len(s.serving)+s.queue.len())
	s.measured = now
}

// submit brings the present attempt of a call to a server. ok is false if its queue is full.
func (e *Engine) submit(s *station, of int32) (ok bool) {
	s.measure(e.now)
	isFree := s.profile.Workers == 0 || len(s.serving) < s.profile.Workers
	switch open := len(s.serving) + s.queue.len(); {
	case open >= traffic.MaxOpen:
		return false
	case !isFree && s.profile.Queue >= 0 && s.queue.len() >= s.profile.Queue:
		return false
	}
	s.load.Requests++
	j := e.jobs.add(job{station: s, call: of, turn: e.calls.turn(of)})
	if isFree {
		e.serve(j)
	} else {
		s.queue.push(j)
	}
	return true
}

// serve lets a worker begin a job.
func (e *Engine) serve(j int32) {
	s := e.jobs.get(j).station
	e.jobs.get(j).index = int32(len(s.serving))
	s.serving = append(s.serving, j)
	e.finishLater(j)
}

// finishLater adds the end of the service of a job, unless its server hangs.
func (e *Engine) finishLater(j int32) {
	s := e.jobs.get(j).station
	if s.hanging {
		return
	}
	took := s.profile.Service.Sample(s.random)
	if slower := s.profile.Slower(e.now - s.began); slower > 1 {
		took = time.Duration(min(float64(took)*slower, math.MaxInt64/4))
	}
	e.events.add(event{at: e.now + min(took, math.MaxInt64/4), of: j, turn: e.jobs.turn(j), do: complete})
}

// complete ends a job in service, and begins the next one.
func (e *Engine) complete(j int32) {
	done := *e.jobs.get(j)
	s := done.station
	s.measure(e.now)
	last := len(s.serving) - 1
	moved := s.serving[last]
	s.serving[done.index] = moved
	e.jobs.get(moved).index = done.index
	s.serving = s.serving[:last]
	if s.queue.len() > 0 {
		e.serve(s.queue.pop())
	}
	e.jobs.remove(j)
	isError := s.profile.ErrorRate > 0 && s.random.Float64() < s.profile.ErrorRate
	if e.calls.turn(done.call) == done.turn {
		e.answer(done.call, s, isError)
	}
}

// leave removes a job that its server loses by its end.
func (e *Engine) leave(j int32, s *station) {
	lost := *e.jobs.get(j)
	e.jobs.remove(j)
	if e.calls.turn(lost.call) == lost.turn && !s.hanging {
		e.failed(lost.call, traffic.Reset, s.name)
	}
}

// ring is a queue of jobs.
type ring struct {
	list []int32
	head int
}

func (r *ring) len() int     { return len(r.list) - r.head }
func (r *ring) all() []int32 { return r.list[r.head:] }
func (r *ring) push(j int32) { r.list = append(r.list, j) }

func (r *ring) pop() int32 {
	j := r.list[r.head]
	if r.head++; r.head > 1024 && r.head > len(r.list)/2 {
		r.list = append(r.list[:0], r.list[r.head:]...)
		r.head = 0
	}
	return j
}
