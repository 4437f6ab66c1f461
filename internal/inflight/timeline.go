package inflight

// Timeline is the part of a Ledger that a virtual clock uses. The clock moves the time when
// nothing is in flight, and then makes due timers wait until all other work of the instant has
// ended. The clock may hold locks of its own when it calls a Timeline; the ledger calls the
// clock only during Jump and Rest.
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
// If the check and the move were two steps, the worker could begin in between, read the old
// time, and be active when the time changes.
type Timeline struct{ ledger *Ledger }

// Timeline returns the ledger's interface for virtual clocks.
func (l *Ledger) Timeline() Timeline { return Timeline{l} }

// Jump calls move if nothing is in flight, and reports whether it did. No work can begin during
// the call. instant is the new time; it influences the order of turns. move must not call the
// ledger, except that it counts the timers that become due with due.
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

// Rest calls move if nothing is in flight, and reports whether it did. No work can begin during
// the call. It does not change the instant, because no timer becomes due. idle is closed when
// nothing is in flight any more; it is nil after a move.
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

// Due is a due timer. It is counted until End. It must not be copied after the first call of a
// method.
type Due struct {
	ledger  *Ledger
	kind    Kind
	waiting bool // guarded by the ledger's mutex
}

// Due counts a timer that is due at once, even if other work is in flight.
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

// TryFire puts the timer in flight if no other work is in flight, except work that waits for
// its turn, and reports whether it did. Otherwise quiet is closed when it may be tried again.
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

// Fire puts the timer in flight, even if other work is.
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

// End ends the count: the timer has fired, or never will.
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
