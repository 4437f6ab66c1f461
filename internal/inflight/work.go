package inflight

import "sync"

// Work is one piece of work, which the ledger counts from Begin until End, except while it is
// paused because it waits for time to pass or for other work. A nil *Work counts nothing. All
// methods are safe for concurrent use.
//
// Work of several goroutines is paused as soon as one of them pauses, because the ledger cannot
// know whether the others are still active. Steps that must happen at the same instant have to
// run one after another in such work.
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

// Begin counts a piece of work of kind k. The caller must be in flight itself, unless it does
// not matter at which time the work begins. A nil ledger counts nothing.
func Begin(l *Ledger, k Kind) *Work {
	if l == nil {
		return nil
	}
	w := &Work{ledger: l, kind: k}
	l.begin(k, 1)
	return w
}

// End ends the work. Only the first call has an effect.
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

// Pause stops counting the work until Resume. Pauses may overlap: the work is counted again
// after the last Resume. After End, Pause and Resume have no effect.
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

// Resume ends a Pause. The code that ends the wait calls it, not the code that waited: see Latch.
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
