package inflight

import (
	"cmp"
	"container/heap"
	"math"

	"minikcm.dev/minikcm/internal/hash"
)

// turn is a piece of work that waits for its turn. If the ledger's work takes turns (see
// Ledger.TakeTurns), one piece of work runs at a time: the next one begins when all work that
// the previous one started has ended, and its events have been delivered to all watchers.
// Which one is next depends on the waiting work and the seed, never on the speed of goroutines.
type turn struct {
	ledger  *Ledger
	kind    Kind
	granted func()
	// at says what the work is, if it waits for a step.
	at Waiting

	// Guarded by the ledger's mutex.
	place Place
	order uint64 // of joining, among the work of one place
	index int    // in the line, -1 if not there
}

// line orders turns by place, then by the order of join.
type line []*turn

func (h line) Len() int { return len(h) }

func (h line) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(a.place.Compare(b.place), cmp.Compare(a.order, b.order)) < 0
}

func (h line) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *line) Push(x any) {
	t := x.(*turn)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *line) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}

// turns is the line of waiting work of a ledger.
type turns struct {
	taken   bool
	seed    uint64
	line    line
	granted uint64
	joined  uint64
	// instant is the cluster's time. It makes the order differ between instants.
	instant uint64
	// paused means that work waits for steps, of which so many are to be taken: see PauseWork.
	paused bool
	steps  int
	// driven means that turns are granted only while there are watchers.
	driven   bool
	watchers map[*watcher]struct{}
}

// watcher is a caller that waits for the cluster; done is closed when that is over,
// and nil if it is over only when nothing is in flight.
type watcher struct{ done <-chan struct{} }

func (w *watcher) waits() bool {
	select {
	case <-w.done:
		return false
	default:
		return true
	}
}

// TakeTurns makes queued work wait for turns, in an order that follows from the seed. It must
// be called before all other methods. If driven is set, turns
// are granted only during Advance and Wait of the virtual clock and during WaitIdle: between
// those calls the cluster stands still, whatever its driver does.
func (l *Ledger) TakeTurns(seed uint64, driven bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takes.taken, l.takes.seed, l.takes.driven = true, seed, driven
	l.takes.watchers = map[*watcher]struct{}{}
}

// TakesTurns reports whether work has to wait for its turn.
func (l *Ledger) TakesTurns() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takes.taken
}

// First and Last are names of work whose turns come before and after all other work's.
const (
	First = ""
	Last  = "\xff"
)

// Place is the position of work in the line. The order of the places of work that joined in the
// same turn follows from names, keys and the seed.
type Place struct {
	generation uint64 // how many turns had been granted by then
	rank       uint64 // among the places of one generation
}

// PlaceOf returns the place that work of that name and key would get now. Without turns, it is
// the same for all work.
func (l *Ledger) PlaceOf(name, key string) Place {
	if !l.TakesTurns() {
		return Place{}
	}
	rank := hash.Of(name, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placeLocked(name, rank)
}

func (l *Ledger) placeLocked(name string, rank uint64) Place {
	p := Place{rank: hash.Mix(hash.Mix(l.takes.seed, l.takes.instant), rank)}
	switch name {
	case First:
	case Last:
		p.generation = math.MaxUint64
	default:
		p.generation = l.takes.granted + 1
	}
	return p
}

// Compare returns a negative number if p comes before q, and a positive one if q
// comes before p.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.generation, q.generation), cmp.Compare(p.rank, q.rank))
}

// join counts a piece of work that waits for its turn. granted is called when the turn has
// come, under the ledger's lock: it must pass the work on without blocking and without calling
// the ledger. From then on the work counts like any other, until end. Work that joined in the
// same turn is ordered by name, key and seed, and work of the same name and key by the order of
// join. join must be called only if TakesTurns returns true.
func (t *turn) join(name, key string) {
	rank := hash.Of(name, key)
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginLocked(t.kind, 1)
	t.place = l.placeLocked(name, rank)
	t.waitLocked()
}

func (t *turn) waitLocked() {
	l := t.ledger
	l.takes.joined++
	t.order = l.takes.joined
	l.queueLocked(t.kind, 1)
	heap.Push(&l.takes.line, t)
	l.grantLocked()
}

// take grants the work its turn, before all other waiting work, and does not call granted. It
// reports whether the work was still waiting.
func (t *turn) take() bool {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.ledger.takes.line, t.index)
	t.ledger.queueLocked(t.kind, -1)
	return true
}

// giveBack makes work that has its turn wait again, unless it has ended.
func (t *turn) giveBack() {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	if t.index < 0 {
		t.waitLocked()
	}
}

// grantLocked grants the next turn if no work is active and no timer is due.
func (l *Ledger) grantLocked() {
	waiting := int64(len(l.takes.line))
	if waiting == 0 || l.takes.paused && l.takes.steps == 0 || l.turns != waiting || l.total != waiting || !l.watchedLocked() {
		return
	}
	if l.takes.paused {
		l.takes.steps--
	}
	l.popLocked()
}

// popLocked grants the first turn of the line.
func (l *Ledger) popLocked() {
	t := heap.Pop(&l.takes.line).(*turn)
	l.queueLocked(t.kind, -1)
	l.takes.granted++
	t.granted()
}

func (l *Ledger) watchedLocked() bool {
	if !l.takes.driven {
		return true
	}
	for w := range l.takes.watchers {
		if w.waits() {
			return true
		}
	}
	return false
}

// watch registers a watcher until done is closed, or the returned function is called.
func (l *Ledger) watch(done <-chan struct{}) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.takes.driven {
		return func() {}
	}
	w := &watcher{done}
	l.takes.watchers[w] = struct{}{}
	l.grantLocked()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.takes.watchers, w)
	}
}
