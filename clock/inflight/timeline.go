package inflight

// Timeline is what a virtual clock knows of a Ledger: it moves time when nothing is
// in flight, and has what is due then wait until everything else of the instant has
// come to rest. The clock has locks of its own, which it may hold when it calls; the
// ledger never calls it but within Jump and Rest.
//
//	clock                             ledger                   a worker
//	Jump: nothing is in flight?       locked, yes
//	  move: time is 10:00             locked                   Begin waits for the lock
//	  due(Callback)                   1 callback waits
//	                                  unlocked                 begins, at 10:00
//	callback.TryFire: false           1 key runs
//	  waits for the channel           0 run, channel closed    ends
//	callback.TryFire: true            1 callback runs
//
// Were the check and the move two steps, the worker could begin in between, read the
// old time, and be at work when the time changes.
type Timeline struct{ ledger *Ledger }

// Timeline returns the ledger as a virtual clock needs it.
func (l *Ledger) Timeline() Timeline { return Timeline{l} }

// Jump calls move if nothing is in flight, before anything can begin, and reports
// whether it did. instant is the time that is moved to; turns of one instant are in
// another order than those of the next. move must not call the ledger; what becomes
// due by the move, it counts with due.
//
// idle is closed when nothing is in flight any more.
func (t Timeline) Jump(instant int64, move func(due func(Kind) Due)) (jumped bool, idle <-chan struct{}) {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total != 0 {
		return false, l.whenIdleLocked()
	}
	l.takes.instant = uint64(instant)
	move(l.dueLocked)
	return true, l.whenIdleLocked()
}

// Rest calls move if nothing is in flight, before anything can begin, and reports
// whether it did. The instant stays what it was: nothing is due by this move. idle is
// closed when nothing is in flight any more; it is nil after a move.
func (t Timeline) Rest(move func()) (moved bool, idle <-chan struct{}) {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total != 0 {
		return false, l.whenIdleLocked()
	}
	move()
	return true, nil
}

// Due is something that a clock has come to. It counts from then on, until End. Copies
// of it are the same thing only before the first call.
type Due struct {
	ledger  *Ledger
	kind    Kind
	waiting bool // guarded by the ledger's mutex
}

// Due counts what is due at once, though something else may be in flight.
func (t Timeline) Due(k Kind) Due {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dueLocked(k)
}

func (l *Ledger) dueLocked(k Kind) Due {
	l.beginLocked(k, 1)
	l.queueLocked(k, 1)
	return Due{ledger: l, kind: k, waiting: true}
}

// TryFire makes it in flight if nothing else is but what waits for its turn, and
// reports whether it did. Otherwise quiet is closed when that may be so.
func (d *Due) TryFire() (fired bool, quiet <-chan struct{}) {
	l := d.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total != l.turns {
		return false, l.whenQuietLocked()
	}
	d.fireLocked()
	return true, nil
}

// Fire makes it in flight, whatever else is.
func (d *Due) Fire() {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	d.fireLocked()
}

func (d *Due) fireLocked() {
	if d.waiting {
		d.waiting = false
		d.ledger.queueLocked(d.kind, -1)
	}
}

// End takes it back: it has been fired and is over, or never will be.
func (d *Due) End() {
	d.ledger.mu.Lock()
	defer d.ledger.mu.Unlock()
	d.fireLocked()
	d.ledger.endLocked(d.kind, 1)
}

// Attend registers a caller that waits for the cluster, until done is closed or end is called.
// A nil done means until nothing is in flight. If turns are granted only while a caller waits
// (TakeTurns, driven), they are granted in that time.
func (t Timeline) Attend(done <-chan struct{}) (end func()) { return t.ledger.watch(done) }
