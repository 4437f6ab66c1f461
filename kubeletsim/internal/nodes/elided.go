package nodes

import (
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Elided is the state of a node's heartbeats of one kind while they are sent but not written
// (internal/heartbeats). The worker with the key of the heartbeats holds the lock while it works; others
// take it only while On is set, and never wait for a fault then: heartbeats that faults concern are written.
type Elided struct {
	sync.Mutex
	// On means that heartbeats are not written.
	On atomic.Bool
	// Owed is when the latest heartbeat was sent that is not written; zero: there is none.
	Owed time.Time
	// Noticed means that something but the store took notice of the last write, or may take notice of
	// the next one.
	Noticed bool
	// Real is the first comparison of the status that is made, because something may have changed before;
	// zero: there is none.
	Real time.Time
	// Stirs counts the events that may have changed the content of the next heartbeat.
	Stirs atomic.Uint64
	// Late is the last heartbeat that was written late; nil: none was.
	Late atomic.Pointer[Late]
}

// Late is a heartbeat that was written late.
type Late struct {
	// Written is the time in it, by the node's clock, and Sent the cluster's time then.
	Written metav1.MicroTime
	Sent    time.Time
}

// Advance records the time of a renewal in the lease, and reports whether it is later than all before.
func (r *Renewal) Advance(renewed *metav1.MicroTime) bool {
	if renewed == nil || !renewed.After(r.Newest) {
		return false
	}
	r.Newest = renewed.Time
	return true
}

// Skip elides the renewals before a time, which it excludes. next returns when the lease is renewed
// after a renewal.
func (r *Renewal) Skip(before time.Time, next func(sent time.Time) time.Time) {
	if !r.Elided.On.Load() {
		return
	}
	for r.Due.Before(before) {
		r.Elided.Owed = r.Due
		r.Due = next(r.Due)
	}
}

// Skip elides the comparisons of the status before a time, which it excludes, and the reports that are due
// at some of them. Nothing but times has changed in these.
func (h *Heartbeat) Skip(before time.Time, period, reportPeriod time.Duration) {
	if !h.Elided.On.Load() {
		return
	}
	if real := h.Elided.Real; !real.IsZero() && real.Before(before) {
		before = real
	}
	for {
		ahead := max(h.FullDue.Sub(h.StatusDue), 0)
		report := h.StatusDue.Add((ahead + period - 1) / period * period)
		if !report.Before(before) {
			break
		}
		h.Elided.Owed = report
		h.StatusDue, h.FullDue = report.Add(period), report.Add(reportPeriod)
	}
	if late := before.Sub(h.StatusDue); late > 0 {
		h.StatusDue = h.StatusDue.Add((late + period - 1) / period * period)
	}
}
