package inflight

import "sync"

// Work is one piece of work that the ledger counts, from Begin until End. While it is
// paused it does not count: it only waits for time to pass, or for other work. A nil
// *Work counts nothing. All methods are safe for concurrent use.
//
// Work that goes on in several goroutines is paused as soon as one of them pauses, as
// the ledger cannot know whether another one still does something. What must not be
// parted by time, such work does one after the other.
type Work struct {
	ledger *Ledger
	kind   Kind

	mu     sync.Mutex
	pauses int
	ended  bool
	// substitute is called at the first pause; see Queue.Run.
	substitute func()
	replaced   bool
}

// Begin counts a piece of work of kind k. Its caller is in flight itself, or nothing
// is that the work could be too late for. A nil ledger counts nothing.
func Begin(l *Ledger, k Kind) *Work {
	if l == nil {
		return nil
	}
	w := &Work{ledger: l, kind: k}
	l.begin(k, 1)
	return w
}

// End takes the work back for good. Only the first End does something.
func (w *Work) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	if w.pauses == 0 {
		w.ledger.end(w.kind, 1)
	}
}

// Pause lets the work count no longer until Resume. Pauses may overlap: the work counts
// again after the last Resume. After End they do nothing.
func (w *Work) Pause() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses++
	if w.pauses > 1 || w.ended {
		return
	}
	if w.substitute != nil && !w.replaced {
		w.replaced = true
		w.substitute()
	}
	w.ledger.end(w.kind, 1)
}

// Resume is the end of a Pause. It is called by what ends the waiting, not by what has
// waited: see Latch.
func (w *Work) Resume() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses--
	if w.pauses == 0 && !w.ended {
		w.ledger.begin(w.kind, 1)
	}
}

// wasReplaced reports whether substitute has been called.
func (w *Work) wasReplaced() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replaced
}
