package reach

import (
	"fmt"
	"time"

	"minikcm.dev/minikcm/internal/network/services"
)

// views are what nodes know of the Services, where that is not the present state. kube-proxy writes its rules when something changes,
// and then not again for a period, in which changes are collected:
//
//	10.0 s   a Service changes         it is written at once, after a quiet time
//	10.2 s   an endpoint is gone       it waits: the view of 10.2 s is what all nodes know
//	10.9 s   another one is gone       it waits, too
//	11.0 s   the period is over        all nodes know both changes
//
// All nodes see the same changes at the same times, so that one view serves all of them, and each node that is stopped has its own.
type views struct {
	// period is the least time between two syncs; 0: changes are written at once.
	period time.Duration
	// last is the time of the last sync. pending, if not nil, has the state before the changes that wait, until due.
	last, due time.Time
	pending   *services.View
	stopped   map[string]*stopped
}

// stopped is the view of a node that follows no changes.
type stopped struct {
	view  *services.View
	since time.Time
	// reasons say why, each as often as it holds.
	reasons map[string]int
}

// SetSyncPeriod sets the least time between two syncs of the nodes' rules.
func (c *Cluster) SetSyncPeriod(period time.Duration) { c.views.period = period }

// Changing must be called before a Service or one of its EndpointSlices changes. It returns when the nodes will know the change;
// the zero time means at once.
func (c *Cluster) Changing(key services.Key, now time.Time) (due time.Time) {
	v := &c.views
	v.catchUp(now)
	switch {
	case v.period <= 0:
	case v.pending != nil:
		v.pending.Retain(key)
	case v.last.IsZero() || !now.Before(v.last.Add(v.period)) || now.Equal(v.last):
		v.last = now
	default:
		v.pending, v.due = services.NewView(&c.Services), v.last.Add(v.period)
		v.pending.Retain(key)
	}
	for _, s := range v.stopped {
		s.view.Retain(key)
	}
	if v.pending != nil {
		return v.due
	}
	return time.Time{}
}

// catchUp lets the nodes know what has waited until now.
func (v *views) catchUp(now time.Time) {
	if v.pending != nil && !now.Before(v.due) {
		v.pending, v.last = nil, v.due
	}
}

// StopView stops the view of a node, for a reason. It follows again when StartView was called as often, for each reason.
func (c *Cluster) StopView(node, reason string, now time.Time) {
	v := &c.views
	v.catchUp(now)
	s := v.stopped[node]
	if s == nil {
		s = &stopped{view: services.NewView(&c.Services), since: now, reasons: map[string]int{}}
		if v.pending != nil {
			s.view = v.pending.Clone()
		}
		if v.stopped == nil {
			v.stopped = map[string]*stopped{}
		}
		v.stopped[node] = s
	}
	s.reasons[reason]++
}

// StartView ends a StopView.
func (c *Cluster) StartView(node, reason string) {
	s := c.views.stopped[node]
	if s == nil {
		return
	}
	if s.reasons[reason]--; s.reasons[reason] <= 0 {
		delete(s.reasons, reason)
	}
	if len(s.reasons) == 0 {
		delete(c.views.stopped, node)
	}
}

// rules returns the Services as a node knows them.
func (c *Cluster) rules(node string, now time.Time) services.Rules {
	c.views.catchUp(now)
	r := services.Rules{Table: &c.Services, View: c.views.pending}
	if s := c.views.stopped[node]; s != nil {
		r.View = s.view
	}
	return r
}

// stale says from whose view a Service is seen that has changed since; empty if it has not.
func (c *Cluster) stale(node string, r services.Rules, key services.Key) string {
	switch s := c.views.stopped[node]; {
	case !r.View.Behind(key):
		return ""
	case s != nil:
		return fmt.Sprintf("node %s knows %s as it was: %s since %s", node, key, first(s.reasons), s.since.UTC().Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("node %s knows %s as it was, until kube-proxy syncs at %s", node, key, c.views.due.UTC().Format(time.RFC3339Nano))
}

// first returns the first of the reasons.
func first(reasons map[string]int) (found string) {
	for reason := range reasons {
		if found == "" || reason < found {
			found = reason
		}
	}
	return found
}
