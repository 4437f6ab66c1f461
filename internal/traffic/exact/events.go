package exact

import "time"

// action says what happens at an event.
type action uint8

const (
	// arrive: a new request of the route with the number of the event.
	arrive action = iota
	// complete: the service of the job ends.
	complete
	// expire: the time-out of the call's present attempt is over.
	expire
	// fail: the call's present attempt fails, for the reason that the call has.
	fail
	// again: the call's next attempt begins.
	again
)

// event happens at a time. If turn is no longer the turn of its job or call, that has ended, and the event has no effect.
type event struct {
	at   time.Duration
	seq  uint64
	of   int32
	turn uint32
	do   action
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// events are a heap with four branches at each event, the next event first. Those of one time come in the order in which they were added.
type events struct {
	list []event
	seq  uint64
}

func (h *events) add(e event) {
	h.seq++
	e.seq = h.seq
	h.list = append(h.list, e)
	i := len(h.list) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.list[parent]) {
			break
		}
		h.list[i] = h.list[parent]
		i = parent
	}
	h.list[i] = e
}

// next removes and returns the next event, if it is not after until.
func (h *events) next(until time.Duration) (e event, ok bool) {
	if len(h.list) == 0 || h.list[0].at > until {
		return event{}, false
	}
	e = h.list[0]
	n := len(h.list) - 1
	moved := h.list[n]
	if h.list = h.list[:n]; n > 0 {
		h.sink(moved)
	}
	return e, true
}

// sink puts an event into the place of the first one, or beneath it.
func (h *events) sink(e event) {
	i, n := 0, len(h.list)
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for child := least + 1; child < min(4*i+5, n); child++ {
			if h.list[child].before(&h.list[least]) {
				least = child
			}
		}
		if !h.list[least].before(&e) {
			break
		}
		h.list[i] = h.list[least]
		i = least
	}
	h.list[i] = e
}
