package kubeletsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// The periods of upstream's kubelet with its default configuration. The status is compared with the
// Node every 10 s, and written when it has changed or is five minutes old.
const (
	statusPeriod = 10 * time.Second
	reportPeriod = 5 * time.Minute
)

// jitterShare is the part of a period by which a heartbeat may come earlier.
const jitterShare = 25

// syncNode registers a node or sends the heartbeats that are due. If the node is not simulated
// yet or was lost, it adopts the Node of that name. unbound is not the context of a node yet.
func (k *nodeManager) syncNode(unbound context.Context, key key) error {
	ctx := k.asNode(unbound, key.id)
	now := k.opts.Clock.Now()
	n := k.nodes.Get(key.id)
	if n == nil || n.IsLost() {
		var err error
		if n, err = k.adoptNode(ctx, key.id, n); err != nil {
			return fmt.Errorf("beginning to simulate node %s: %w", key.id, err)
		}
		if n != nil && n.Registered.Load() {
			k.renewNow(n) // the Node came back
		}
	}
	if n == nil || !n.Reachable() {
		if n != nil {
			k.flush(n)
		}
		k.due.Set(key, time.Time{})
		k.loop.Add(leaseKey(key.id)) // its alarm ends, too
		return nil
	}
	n.Elided.Lock()
	defer n.Elided.Unlock()
	k.skip(n, heartbeats.Nodes, now)
	stirs := n.Elided.Stirs.Load()
	k.takeRange(n, now)
	if n.TakeNetwork(now) {
		n.StatusDue = now
		k.wakePods(n.Name)
	}
	restarted, resumed := n.TakeStart()
	if restarted {
		n.Registered.Store(false)
	}
	if restarted || resumed {
		n.StatusDue, n.FullDue = now, now
	}
	if n.TakeChanged() {
		n.StatusDue = now
	}
	if resumed && !restarted && n.Registered.Load() {
		k.renewNow(n)
	}
	compares := n.Registered.Load() && !n.StatusDue.After(now)
	if compares {
		n.Elided.Real = time.Time{}
	}
	err := k.heartbeat(unbound, n, now)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil && n.Elided.On.Load():
		n.FullDue = now
		k.write(n, heartbeats.Nodes)
	}
	switch {
	case errors.Is(err, errGone):
		k.due.Set(key, time.Time{})
		k.loop.Add(key)
		return nil
	case errors.Is(err, errOff):
		k.due.Set(key, time.Time{})
		return nil
	case !n.Registered.Load():
		k.due.Set(key, time.Time{})
		return err
	}
	wake := k.nextSync(n, now, compares && err == nil, stirs)
	if err != nil {
		k.opts.Logger.Error(err, "Cannot send the heartbeat of a node, will retry", "node", klog.KRef("", n.Name), "at", wake)
	}
	k.due.Set(key, wake)
	return nil
}

// nextSync returns when a node is synced again; zero: when something changes. compared says that its status was
// found to be, or was made, that of the Node. stirs are those before.
func (k *nodeManager) nextSync(n *nodes.Node, now time.Time, compared bool, stirs uint64) time.Time {
	if compared && n.NetworkError() == "" && !k.staging.has(nodeKindOf) && k.elide(n, heartbeats.Nodes, stirs) {
		return time.Time{}
	}
	if !n.Elided.On.Load() && !n.Elided.Owed.IsZero() {
		n.FullDue, n.Elided.Owed = now, time.Time{} // what was sent before is written at the next comparison
	}
	if at := n.NetworkAt(); !at.IsZero() && at.Before(n.StatusDue) {
		return at
	}
	return n.StatusDue
}

// renewNow queues the renewal of a node's lease, whenever it is due.
func (k *nodeManager) renewNow(n *nodes.Node) {
	n.Renewal.Hurry()
	k.loop.Add(leaseKey(n.Name))
}

// takeRange gives a node the range of pod addresses that its Node has got, if it awaits one. Then
// the node is ready, and its pods get addresses.
func (k *nodeManager) takeRange(n *nodes.Node, now time.Time) {
	if !n.AwaitsRange() {
		return
	}
	object, err := k.nodeLister.Get(n.Name)
	if err == nil && n.TakeRange(object) {
		n.StatusDue = now
		k.settle(n)
		k.wakePods(n.Name)
	}
}

// heartbeat registers the node or updates its status, if that is due, and sets when it is due again.
func (k *nodeManager) heartbeat(unbound context.Context, n *nodes.Node, now time.Time) error {
	if !n.Registered.Load() {
		if err := k.register(unbound, n, now); err != nil {
			return fmt.Errorf("registering node %s: %w", n.Name, err)
		}
		n.Registered.Store(true)
		n.StatusDue, n.FullDue = now.Add(statusPeriod), now.Add(reportPeriod)
		k.renewNow(n)
		return nil
	}
	if n.StatusDue.After(now) {
		return nil
	}
	err := k.writeNodeStatus(k.asNode(unbound, n.Name), n, time.Time{})
	n.StatusDue = k.gathered(k.opts.Clock.Now().Add(statusPeriod))
	if err != nil {
		return fmt.Errorf("writing the status of node %s: %w", n.Name, err)
	}
	return nil
}

// gathered returns the last point of the grid before a time (Options.Gather).
func (k *nodeManager) gathered(at time.Time) time.Time {
	if k.opts.Gather <= 0 {
		return at
	}
	return at.Add(-time.Duration(at.UnixNano() % int64(k.opts.Gather)))
}

// jittered shortens a period by up to 4 %, as upstream's kubelet does. Each node has its own
// random source, so that the result does not depend on the order of syncs.
func (k *nodeManager) jittered(n *nodes.Node, period time.Duration) time.Duration {
	if k.opts.Random == nil {
		return period
	}
	if n.Renewal.Random == nil {
		n.Renewal.Random = k.opts.Random.Keyed(n.Name)
	}
	return period - time.Duration(n.Renewal.Random.Float64()*float64(period)/jitterShare)
}

// register creates the Node, or takes over the existing one.
func (k *nodeManager) register(unbound context.Context, n *nodes.Node, now time.Time) error {
	ctx := k.asNode(unbound, n.Name)
	if err := k.boot(unbound, n, now); err != nil {
		return err
	}
	if n.Managed {
		return k.registerAgain(ctx, n, now)
	}
	n.BeginStart(nil, now)
	object := nodes.Object(n, k.opts.versions(), now)
	created, err := k.create(unbound, object)
	if apierrors.IsAlreadyExists(err) {
		return k.registerAgain(ctx, n, now)
	}
	if err != nil {
		return err
	}
	n.SetUID(created.UID)
	_, events := nodes.Conditions(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}, n, now)
	k.reportNode(n, n.Starting(events))
	return nil
}

// registerAgain takes over the existing Node.
func (k *nodeManager) registerAgain(ctx context.Context, n *nodes.Node, now time.Time) error {
	object, err := k.opts.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if n.Managed && (apierrors.IsNotFound(err) || err == nil && n.LoseTo(object.UID)) {
		n.Lose(n.UID())
		return errGone
	}
	if err != nil {
		return err
	}
	n.SetUID(object.UID)
	n.TakeRange(object)
	n.BeginStart(object, now)
	if missing := nodes.MissingPatch(object, n, k.opts.versions()); missing != nil {
		patch, err := json.Marshal(missing)
		if err != nil {
			return fmt.Errorf("encoding the patch of node %s: %w", n.Name, err)
		}
		if object, err = k.opts.Client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if k.staging.claimsNode(object) {
		return nil
	}
	var events []lifecycle.Event
	for range statusTries {
		if events, err = k.putNodeStatus(ctx, n, object, now); !apierrors.IsConflict(err) {
			break
		}
		if object, err = k.readNode(ctx, n); err != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if _, err := nodes.ReadyDelay(object.Annotations); err != nil {
		k.reportNode(n, []lifecycle.Event{{Kind: corev1.EventTypeWarning, Reason: "InvalidSimulation", Message: err.Error()}})
	}
	k.reportNode(n, n.Starting(events))
	return nil
}

// writeNodeStatus writes the node's status if it has changed or has not been written for
// reportPeriod. As a kubelet, it compares it with the Node of the informer first, and with the Node
// that it reads in further attempts, which follow at once. sent is when the status was reported if it is
// written late, otherwise zero.
func (k *nodeManager) writeNodeStatus(ctx context.Context, n *nodes.Node, sent time.Time) (err error) {
	for try := range statusTries {
		if k.staging.hasNode(n.Name) {
			return nil // Stages have taken it
		}
		if err = k.tryNodeStatus(ctx, n, try, sent); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (k *nodeManager) tryNodeStatus(ctx context.Context, n *nodes.Node, try int, sent time.Time) error {
	object, err := k.nodeLister.Get(n.Name)
	if try > 0 || apierrors.IsNotFound(err) {
		// In the first attempt, the Node was just created and the informer is behind, or it was
		// just deleted and loseNode follows.
		object, err = k.readNode(ctx, n)
	}
	if err != nil {
		return ignoreGone(err)
	}
	if n.Written != nil && newer(n.Written.ResourceVersion, object.ResourceVersion) {
		object = n.Written
	}
	if !sent.IsZero() {
		events, err := k.putNodeStatus(ctx, n, object, sent)
		k.reportNode(n, events)
		return ignoreGone(err)
	}
	now := k.opts.Clock.Now()
	if n.FullDue.After(now) && !nodes.StatusChanged(object, n, k.opts.versions(), now) {
		return nil
	}
	var trace heartbeats.Trace
	events, err := k.putNodeStatus(heartbeats.WithTrace(ctx, &trace), n, object, now)
	if err != nil {
		return ignoreGone(err)
	}
	n.Elided.Owed, n.Elided.Noticed = time.Time{}, trace.Noticed()
	n.FullDue = now.Add(reportPeriod)
	k.reportNode(n, events)
	return nil
}

func (k *nodeManager) readNode(ctx context.Context, n *nodes.Node) (object *corev1.Node, err error) {
	err = k.heartbeatRequest(ctx, func(ctx context.Context) (err error) {
		object, err = k.opts.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		return err
	})
	return object, err
}

// putNodeStatus writes the node's status into the given Node.
func (k *nodeManager) putNodeStatus(ctx context.Context, n *nodes.Node, object *corev1.Node, now time.Time) ([]lifecycle.Event, error) {
	update := *object
	var events []lifecycle.Event
	update.Status, events = nodes.Status(object, n, k.opts.versions(), n.LocalTime(now))
	err := k.heartbeatRequest(ctx, func(ctx context.Context) error {
		written, err := k.opts.Client.CoreV1().Nodes().UpdateStatus(ctx, &update, metav1.UpdateOptions{})
		if err == nil {
			n.Written = written
		}
		return err
	})
	return events, err
}

// reportNode records events of a Node.
func reportNode(recorder *events.Recorder, name string, uid types.UID, all ...lifecycle.Event) {
	for _, e := range all {
		recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}, e.Kind, e.Reason, e.Message)
	}
}
