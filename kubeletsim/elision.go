package kubeletsim

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

var _ heartbeats.Source = (*Kubelets)(nil)

// elided returns the state of a node's heartbeats of a kind.
func elided(n *nodes.Node, kind heartbeats.Kind) *nodes.Elided {
	if kind == heartbeats.Leases {
		return &n.Renewal.Elided
	}
	return &n.Elided
}

// skip elides the heartbeats that are due before a time.
func (k *nodeManager) skip(n *nodes.Node, kind heartbeats.Kind, before time.Time) {
	if kind == heartbeats.Leases {
		n.Renewal.Skip(before, func(sent time.Time) time.Time { return k.gathered(sent.Add(k.jittered(n, leasePeriod))) })
		return
	}
	n.Skip(before, statusPeriod, reportPeriod)
}

// catchUp elides the heartbeats that have become due by now, and returns when the last elided one was sent.
// It returns the zero time for a node whose heartbeats are written.
func (k *nodeManager) catchUp(n *nodes.Node, kind heartbeats.Kind) time.Time {
	e := elided(n, kind)
	if !e.On.Load() {
		return time.Time{}
	}
	e.Lock()
	defer e.Unlock()
	if e.On.Load() && n.IsLost() { // there is nothing to write to
		k.write(n, kind)
	}
	if !e.On.Load() {
		return time.Time{}
	}
	k.skip(n, kind, k.opts.Clock.Now().Add(1))
	return e.Owed
}

// write ends that heartbeats are elided. It requires the lock.
func (k *nodeManager) write(n *nodes.Node, kind heartbeats.Kind) {
	e := elided(n, kind)
	e.On.Store(false)
	e.Owed, e.Real, e.Noticed = time.Time{}, time.Time{}, true
	if kind == heartbeats.Nodes {
		k.due.Set(nodeKey(n.Name), n.StatusDue)
		return
	}
	k.due.Set(leaseKey(n.Name), n.Renewal.Due)
	k.opts.Heartbeats.Announce(n.Name)
}

// elide ends the writing of the heartbeats of a kind that follow, if nothing observes them. stirs are those before the
// last heartbeat. It requires the lock, and reports whether it did.
func (k *nodeManager) elide(n *nodes.Node, kind heartbeats.Kind, stirs uint64) bool {
	e := elided(n, kind)
	if e.Noticed || !k.opts.Heartbeats.Unobserved(kind) {
		e.On.Store(false)
		return false
	}
	e.On.Store(true)
	// An observer that has come since finds that On is set, or is found here.
	if !k.opts.Heartbeats.Unobserved(kind) || e.Stirs.Load() != stirs {
		e.On.Store(false)
	}
	return e.On.Load()
}

// Settle implements heartbeats.Source. It writes in the order in which the heartbeats were sent.
func (k *nodeManager) Settle(_ context.Context, kind heartbeats.Kind, node string) (wrote bool) {
	type owed struct {
		*nodes.Node
		sent time.Time
	}
	var all []owed
	for _, n := range k.named(node) {
		if sent := k.catchUp(n, kind); !sent.IsZero() {
			all = append(all, owed{n, sent})
		}
	}
	slices.SortFunc(all, func(a, b owed) int {
		if c := a.sent.Compare(b.sent); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, o := range all {
		k.settleOne(o.Node, kind)
	}
	return len(all) > 0
}

// settleOne writes the last heartbeat of a kind that a node has sent, as of then. The context is not that of
// the observer's request, which may end.
func (k *nodeManager) settleOne(n *nodes.Node, kind heartbeats.Kind) {
	e := elided(n, kind)
	e.Lock()
	defer e.Unlock()
	sent := e.Owed
	if !e.On.Load() || sent.IsZero() {
		return
	}
	ctx := heartbeats.WithTrace(k.asNode(context.Background(), n.Name), &heartbeats.Trace{At: sent})
	written := metav1.NewMicroTime(n.LocalTime(sent).Truncate(time.Microsecond))
	if kind == heartbeats.Nodes {
		written = metav1.NewMicroTime(written.Truncate(time.Second))
	}
	e.Late.Store(&nodes.Late{Written: written, Sent: sent}) // before an informer delivers it
	var err error
	if kind == heartbeats.Leases {
		if err = k.renew(ctx, n, sent); err == nil {
			n.Renewal.Advance(n.Renewal.Lease.Spec.RenewTime)
		}
	} else {
		err = k.writeNodeStatus(ctx, n, sent)
	}
	if err != nil {
		k.opts.Logger.Error(err, "Cannot write a heartbeat that was due, will retry", "node", klog.KRef("", n.Name))
		n.Renewal.Due = k.opts.Clock.Now()
		k.write(n, kind)
		return
	}
	e.Owed = time.Time{}
}

// Resume implements heartbeats.Source.
func (k *nodeManager) Resume(kind heartbeats.Kind, node string) {
	for _, n := range k.named(node) {
		k.resumeOne(n, kind)
	}
}

func (k *nodeManager) resumeOne(n *nodes.Node, kind heartbeats.Kind) {
	e := elided(n, kind)
	if !e.On.Load() {
		return
	}
	e.Lock()
	defer e.Unlock()
	if e.On.Load() {
		k.skip(n, kind, k.opts.Clock.Now().Add(1))
		k.write(n, kind)
	}
}

// flush writes the heartbeats that a node has sent, before something happens to it, and makes it write the
// next ones.
func (k *nodeManager) flush(n *nodes.Node) {
	for _, kind := range heartbeats.Kinds() {
		k.catchUp(n, kind)
		k.settleOne(n, kind) // nothing, if nothing is owed
		k.resumeOne(n, kind)
	}
}

// markChanged makes a node compare its status with the Node at the next of its times for that.
func (k *nodeManager) markChanged(node string) {
	if k.opts.Heartbeats == nil {
		return
	}
	n := k.nodes.Get(node)
	if n == nil {
		return
	}
	n.Elided.Stirs.Add(1)
	if !n.Elided.On.Load() {
		return
	}
	n.Elided.Lock()
	defer n.Elided.Unlock()
	if n.Elided.On.Load() {
		k.skip(n, heartbeats.Nodes, k.opts.Clock.Now().Add(1))
		n.Elided.Real = n.StatusDue
		k.due.Set(nodeKey(node), n.StatusDue)
	}
}

// markChangedBy is markChanged for the node that a key is about.
func (k *nodeManager) markChangedBy(key key) {
	switch key.kind {
	case ofPod:
		if e := k.pods.get(types.UID(key.id)); e != nil {
			k.markChanged(e.node)
		}
	case ofPressure, ofStatic:
		k.markChanged(key.id)
	}
}

// Idle implements heartbeats.Source.
func (k *nodeManager) Idle(node string) bool {
	n := k.nodes.Get(node)
	return n != nil && n.Renewal.Elided.On.Load() && n.Reachable()
}

// Late implements heartbeats.Source.
func (k *nodeManager) Late(kind heartbeats.Kind, node string, written metav1.MicroTime) time.Duration {
	n := k.nodes.Get(node)
	if n == nil {
		return 0
	}
	last := elided(n, kind).Late.Load()
	if last == nil || !last.Written.Equal(&written) {
		return 0
	}
	return k.opts.Clock.Now().Sub(last.Sent)
}

// Latest implements heartbeats.Source.
func (k *nodeManager) Latest(node string) (ago time.Duration, ok bool) {
	n := k.nodes.Get(node)
	if n == nil {
		return 0, false
	}
	last := n.Renewal.Elided.Late.Load()
	if last == nil {
		return 0, false
	}
	return k.opts.Clock.Now().Sub(last.Sent), true
}
