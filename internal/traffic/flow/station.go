package flow

import (
	"math"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/latency"
	"minikcm.dev/minikcm/internal/traffic/queueing"
)

// station is a server.
type station struct {
	name    string
	profile traffic.Profile
	began   time.Duration
	queue   queueing.Queue
	ended   bool
	hanging bool

	// sent has the arrivals of the present step, by route, and inflow is their sum.
	sent   []float64
	inflow float64

	// present is the mean number of requests in the server, and backlog the part of those that wait because more came than the workers
	// can serve.
	present, backlog float64
	// blocked is the share of arrivals that find the queue full.
	blocked float64
	waits   waits
	shapes  map[waits]*shape
}

// waits is how long requests wait: all of them for a time because of the backlog, and a share of them further, exponentially, with a mean.
// Numbers are rounded, so that equal ones have one histogram.
type waits struct {
	backlog, share, mean float64
	// load, if it is not 0, is the load of a short queue, which says how long they wait in place of the others.
	load float64
	// slower is by how much services take longer.
	slower float64
}

func newStation(name string, profile traffic.Profile, began time.Duration) *station {
	return &station{
		name: name, profile: profile, began: began, shapes: map[waits]*shape{}, waits: waits{slower: 1},
		queue: queueing.Queue{Workers: profile.Workers, Service: profile.Service.Mean(), Variation: profile.Service.Variation()},
	}
}

// receive adds arrivals of a route to the present step.
func (s *station) receive(route int, n float64) {
	for len(s.sent) <= route {
		s.sent = append(s.sent, 0)
	}
	s.sent[route] += n
	s.inflow += n
}

// step computes a step of so many seconds, which begins at a time.
func (s *station) step(seconds float64, at time.Duration) {
	if s.ended || s.hanging {
		return
	}
	slower := s.profile.Slower(at - s.began)
	q := s.queue
	q.Service *= slower
	perSecond := s.inflow / seconds
	s.blocked = 0
	limit := s.profile.Queue
	if limit < 0 {
		limit = traffic.MaxOpen
	}
	switch {
	case q.Workers == 0 || q.Service == 0:
		s.present = perSecond * q.Service
		s.waits = waits{slower: rounded(slower)}
	case float64(limit)*q.Service/float64(q.Workers) < seconds:
		s.balanced(&q, perSecond, limit)
	default:
		s.follow(&q, perSecond, seconds, float64(limit))
	}
	s.waits.slower = rounded(slower)
}

// balanced computes a queue that is so short that it is in balance at each time.
func (s *station) balanced(q *queueing.Queue, perSecond float64, limit int) {
	load := perSecond * q.Service
	blocked, waiting := queueing.Blocked(q.Workers, limit, load)
	s.blocked, s.present, s.backlog = blocked, load*(1-blocked)+waiting, 0
	s.waits = waits{load: rounded(load)}
}

// follow computes a queue that takes time to change.
func (s *station) follow(q *queueing.Queue, perSecond, seconds, limit float64) {
	capacity := float64(q.Workers) / q.Service
	s.backlog = max(0, s.backlog+(perSecond-capacity)*seconds)
	if over := s.backlog - limit; over > 0 && s.inflow > 0 {
		s.blocked = min(1, over/s.inflow)
		s.backlog, perSecond = limit, perSecond*(1-s.blocked)
	}
	// The step of x that holds at its end (implicit Euler), as an equation of the share of busy time.
	want := s.present + perSecond*seconds
	low, high := 0.0, 1.0
	for range 60 {
		busy := (low + high) / 2
		if q.Present(busy)+capacity*busy*seconds > want {
			high = busy
		} else {
			low = busy
		}
	}
	s.present = max(0, want-capacity*low*seconds)
	load := low * float64(q.Workers)
	waiting := max(0, s.present-load)
	s.backlog = min(s.backlog, waiting)
	share := queueing.ErlangC(q.Workers, load)
	s.setWaits(s.backlog/capacity, share, (waiting-s.backlog)/(low*capacity)/share)
}

func (s *station) setWaits(backlog, share, mean float64) {
	if !(share > 0) || math.IsNaN(mean) || math.IsInf(mean, 0) {
		share, mean = 0, 0
	}
	s.waits = waits{backlog: rounded(backlog), share: math.Round(share*200) / 200, mean: rounded(mean)}
}

// rounded rounds to steps of 1 %.
func rounded(x float64) float64 {
	if x < 1e-7 {
		return 0
	}
	return math.Exp(math.Round(math.Log(x)*100) / 100)
}

// maxShapes bounds the histograms that a server remembers.
const maxShapes = 2000

// shape is the times that answers take, as a histogram with the sum 1.
type shape struct {
	latency.Histogram
	// late has the shares that take longer than times that were asked for.
	late map[time.Duration]float64
}

// above returns the share of the answers that take longer.
func (h *shape) above(d time.Duration) float64 {
	late, ok := h.late[d]
	if !ok {
		late = h.Above(d)
		h.late[d] = late
	}
	return late
}

// answers returns the times that answers take at present.
func (s *station) answers() *shape {
	h := s.shapes[s.waits]
	if h == nil {
		if len(s.shapes) >= maxShapes {
			clear(s.shapes)
		}
		h = &shape{*s.times(), map[time.Duration]float64{}}
		s.shapes[s.waits] = h
	}
	return h
}

// times returns the sums of waits and service times.
func (s *station) times() *latency.Histogram {
	w := s.waits
	var waiting []cell
	switch {
	case w.load > 0:
		waiting = s.queue.Waits(s.profile.Queue, w.load, w.slower)
	default:
		waiting = []cell{{At: w.backlog, Share: 1 - w.share}}
		for _, c := range queueing.Cells() {
			waiting = append(waiting, cell{At: w.backlog - w.mean*math.Log1p(-c.At), Share: w.share * c.Share})
		}
	}
	var h latency.Histogram
	for _, c := range queueing.Cells() {
		took := s.profile.Service.Quantile(c.At).Seconds() * max(1, w.slower)
		for _, before := range waiting {
			if before.Share > 0 {
				h.Add(time.Duration(min((took+before.At)*1e9, math.MaxInt64/2)), before.Share*c.Share)
			}
		}
	}
	return &h
}

type cell = queueing.Cell
