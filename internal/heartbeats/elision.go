package heartbeats

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind says which object a heartbeat writes: the Lease of a node, or the Node.
type Kind int

// The kinds of heartbeats.
const (
	// Leases are renewals of the Leases of nodes.
	Leases Kind = iota
	// Nodes are reports of a status in which only times change.
	Nodes
	kinds
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Leases, Nodes} }

// Source sends the heartbeats: the kubelets.
type Source interface {
	// Settle writes the heartbeats of a kind that were due by now and were not written, of one node or,
	// if node is empty, of all nodes. It reports whether it wrote any.
	Settle(ctx context.Context, kind Kind, node string) (wrote bool)
	// Resume makes one node, or all if node is empty, write the next heartbeats of a kind when they
	// are due.
	Resume(kind Kind, node string)
	// Idle reports that a node's heartbeats go on and are not written, so that its Lease is valid
	// until the functions of Elision.Notify are called.
	Idle(node string) bool
	// Latest returns how long ago a node sent the last renewal that was written late; ok is false if
	// none was.
	Latest(node string) (ago time.Duration, ok bool)
	// Late returns how long ago a node sent the heartbeat with the given time in it, if it was
	// written later; otherwise 0.
	Late(kind Kind, node string, written metav1.MicroTime) time.Duration
}

// Elision decides whether heartbeats have to be written. Its methods may be called concurrently. All
// heartbeats are written if it is nil.
type Elision struct {
	// observers count the observers that need every heartbeat of a kind.
	observers [kinds]atomic.Int64

	mu       sync.Mutex
	source   Source
	notified []func(node string)
}

// From sets the source, once, before any other method is called.
func (e *Elision) From(source Source) {
	if e != nil {
		e.source = source
	}
}

// Notify calls notified whenever a node's heartbeats are written again, or end.
func (e *Elision) Notify(notified func(node string)) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notified = append(e.notified, notified)
}

// Announce calls the functions of Notify.
func (e *Elision) Announce(node string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	all := e.notified
	e.mu.Unlock()
	for _, notified := range all {
		notified(node)
	}
}

// Unobserved reports whether heartbeats of a kind need not be written.
func (e *Elision) Unobserved(kind Kind) bool { return e != nil && e.observers[kind].Load() == 0 }

// Look brings the heartbeats of a kind up to date for a read of one node or, if node is empty, of all. It
// reports whether it wrote any.
func (e *Elision) Look(ctx context.Context, kind Kind, node string) (wrote bool) {
	return e.Unobserved(kind) && e.source.Settle(ctx, kind, node)
}

// LookAtAll brings all heartbeats up to date, for a copy of the store.
func (e *Elision) LookAtAll(ctx context.Context) {
	if e == nil {
		return
	}
	for _, kind := range Kinds() {
		e.Look(ctx, kind, "")
	}
}

// Attend brings the heartbeats of some kinds up to date, and makes all be written until end is called.
func (e *Elision) Attend(ctx context.Context, of ...Kind) (end func()) {
	if e == nil {
		return func() {}
	}
	for _, kind := range of {
		// Kubelets look at the count after they have begun to elide, and Settle and Resume come
		// after the count: one of the two sees the other.
		if e.observers[kind].Add(1) == 1 {
			e.source.Settle(ctx, kind, "")
			e.source.Resume(kind, "")
		}
	}
	return sync.OnceFunc(func() {
		for _, kind := range of {
			e.observers[kind].Add(-1)
		}
	})
}

// Disturb makes one node or, if node is empty, every node write its next heartbeat of a kind, because the
// write may have another outcome now.
func (e *Elision) Disturb(kind Kind, node string) {
	if e.Unobserved(kind) {
		e.source.Resume(kind, node)
	}
}

// Idle is Source.Idle.
func (e *Elision) Idle(node string) bool { return e != nil && e.source.Idle(node) }

// Latest is Source.Latest.
func (e *Elision) Latest(node string) (ago time.Duration, ok bool) {
	if e == nil {
		return 0, false
	}
	return e.source.Latest(node)
}

// Late is Source.Late.
func (e *Elision) Late(kind Kind, node string, written metav1.MicroTime) time.Duration {
	if e == nil {
		return 0
	}
	return e.source.Late(kind, node, written)
}
