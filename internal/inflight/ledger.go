package inflight

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is the sort of work that is in flight.
type Kind int

// What the ledger counts.
const (
	// Request is an API request being served; a watch counts only until its
	// stream is established.
	Request Kind = iota + 1
	// Event is a watch event committed to the store and not yet delivered to all watchers.
	Event
	// Key is a work queue's key, from being added until its reconcile ended.
	Key
	// Action is a simulated kubelet's action that is due and not yet done.
	Action
	// Callback is a timer's function, from when the timer is due until the
	// function has returned.
	Callback
	// Tick is a timer's or ticker's value that is due and has not been received.
	Tick
	// Start is a part of the cluster, or a program beside it, from being started
	// until all further work of it is counted.
	Start
	kinds
)

var kindNames = [kinds]string{
	Request: "requests", Event: "watch events", Key: "queued keys", Action: "kubelet actions",
	Callback: "timer callbacks", Tick: "unreceived timers", Start: "starting parts",
}

func (k Kind) String() string { return kindNames[k] }

// Ledger counts the work that is in flight in one cluster, which the other types of
// this package do in it. What hands work on begins the next piece before it ends its
// own, so that the count is zero only when nothing can happen before time passes.
//
// A nil *Ledger counts nothing and is always idle.
type Ledger struct {
	mu     sync.Mutex
	counts [kinds]int64
	total  int64
	// changes counts how often work began or ended.
	changes uint64
	// turns is how much of total waits for its turn: work that has joined, and timers
	// that a virtual clock has reached, behind another timer of the same instant. waiting
	// is the same by kind.
	turns   int64
	waiting [kinds]int64
	takes   turns
	// workPaused is takes.paused, for callers that do not lock. stagesPaused means that work stops at its stages, too.
	workPaused, stagesPaused atomic.Bool
	// idle and quiet are closed when nothing is in flight, and when all work in flight
	// waits for its turn.
	idle, quiet []chan struct{}
	retries     *Retries
}

// NewLedger returns a ledger with nothing in flight.
func NewLedger() *Ledger { return &Ledger{} }

// begin counts n more pieces of work of kind k.
func (l *Ledger) begin(k Kind, n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginLocked(k, int64(n))
}

// end takes back n pieces that begin counted. It panics if the count would become negative.
func (l *Ledger) end(k Kind, n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(k, int64(n))
}

func (l *Ledger) beginLocked(k Kind, n int64) {
	l.counts[k] += n
	l.total += n
	l.changes++
}

func (l *Ledger) endLocked(k Kind, n int64) {
	if l.counts[k] < n {
		panic(fmt.Sprintf("inflight: ledger ended more %s than were begun", k))
	}
	l.counts[k] -= n
	l.total -= n
	l.changes++
	if l.total != l.turns {
		return
	}
	if l.total == 0 {
		l.idle = wake(l.idle)
	}
	l.quiet = wake(l.quiet)
	l.grantLocked()
}

// queueLocked counts n more pieces of work of kind k, which is in flight, as waiting for
// their turn; less, if n is negative.
func (l *Ledger) queueLocked(k Kind, n int64) {
	l.turns += n
	l.waiting[k] += n
}

// whenIdleLocked returns a channel that is closed when nothing may be in flight.
func (l *Ledger) whenIdleLocked() <-chan struct{} {
	w := make(chan struct{})
	l.idle = append(l.idle, w)
	return w
}

// whenQuietLocked returns a channel that is closed when all work in flight waits for its turn.
func (l *Ledger) whenQuietLocked() <-chan struct{} {
	w := make(chan struct{})
	l.quiet = append(l.quiet, w)
	return w
}

func wake(waiting []chan struct{}) []chan struct{} {
	for _, w := range waiting {
		close(w)
	}
	clear(waiting)
	return waiting[:0]
}

// Idle reports whether nothing is in flight.
func (l *Ledger) Idle() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total == 0
}

// Changes returns how often work has begun or ended so far. While it stays the same and
// something is in flight, nothing makes progress.
func (l *Ledger) Changes() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// WaitIdle returns when nothing is in flight, or with the context's error.
func (l *Ledger) WaitIdle(ctx context.Context) error {
	if l == nil {
		return ctx.Err()
	}
	defer l.watch(nil)()
	for {
		l.mu.Lock()
		if l.total == 0 {
			l.mu.Unlock()
			return ctx.Err()
		}
		w := l.whenIdleLocked()
		l.mu.Unlock()
		select {
		case <-w:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the cluster to be idle (in flight: %s): %w", l, ctx.Err())
		}
	}
}

// String lists the work in flight, for error messages: "2 requests, 1 queued keys". What
// waits for its turn is counted apart: "1 requests; waiting for their turn: 3 queued
// keys".
func (l *Ledger) String() string {
	if l == nil {
		return "nothing"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listLocked()
}

func (l *Ledger) listLocked() string {
	running := l.counts
	for k, n := range l.waiting {
		running[k] -= n
	}
	text := listCounts(running)
	if l.turns > 0 {
		text += "; waiting for their turn: " + listCounts(l.waiting)
	}
	return text
}

func listCounts(counts [kinds]int64) string {
	var parts []string
	for k, n := range counts {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kindNames[k]))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
