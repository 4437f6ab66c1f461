package kubeletsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
)

// The periods of upstream's kubelet with its default configuration: the lease is
// renewed every quarter of its duration, the status is looked at as often, and
// written when it has changed or is five minutes old.
const (
	leaseDuration = 40 * time.Second
	leasePeriod   = 10 * time.Second
	statusPeriod  = 10 * time.Second
	reportPeriod  = 5 * time.Minute
)

// adoptRetry is the delay before a Node that could not be read is looked for again.
const adoptRetry = time.Second

// syncNode registers a node or does what of its heartbeats is due. One that is not there,
// or was lost, it adopts if there is a Node for it.
func (k *Kubelet) syncNode(ctx context.Context, key key) {
	now := k.opts.Clock.Now()
	n := k.nodes.Get(key.id)
	if n == nil || n.IsLost() {
		var err error
		if n, err = k.adoptNode(ctx, key.id, n); err != nil {
			if ctx.Err() == nil {
				k.opts.Logger.Error(err, "Cannot begin to simulate a node, will retry", "node", key.id, "after", adoptRetry)
				k.due.Set(key, now.Add(adoptRetry))
			}
			return
		}
	}
	if n == nil || !n.Reachable() {
		k.due.Set(key, time.Time{})
		return
	}
	restarted, resumed := n.TakeStart()
	if restarted {
		n.Registered = false
	}
	if restarted || resumed {
		n.StatusDue, n.FullDue, n.LeaseDue = now, now, now
	}
	if n.TakeChanged() {
		n.StatusDue = now
	}
	err := k.heartbeat(ctx, n, now)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, errGone):
		k.due.Set(key, time.Time{})
		k.loop.Add(key)
		return
	}
	wake := n.StatusDue
	if n.LeaseDue.Before(wake) {
		wake = n.LeaseDue
	}
	if err != nil {
		delay := min(firstRetry<<min(n.Failures, 10), lastRetry)
		n.Failures++
		k.opts.Logger.Error(err, "Cannot tell the API about a node, will retry", "node", klog.KRef("", n.Name), "after", delay)
		if retry := now.Add(delay); !n.Registered || retry.Before(wake) || !wake.After(now) {
			wake = retry
		}
	} else {
		n.Failures = 0
	}
	k.due.Set(key, wake)
}

func (k *Kubelet) heartbeat(ctx context.Context, n *nodes.Node, now time.Time) error {
	if !n.Registered {
		if err := k.register(ctx, n, now); err != nil {
			return fmt.Errorf("registering node %s: %w", n.Name, err)
		}
		n.Registered = true
		n.StatusDue, n.FullDue = now.Add(statusPeriod), now.Add(reportPeriod)
	} else if !n.StatusDue.After(now) {
		if err := k.writeNodeStatus(ctx, n, now); err != nil {
			return fmt.Errorf("writing the status of node %s: %w", n.Name, err)
		}
		n.StatusDue = now.Add(statusPeriod)
	}
	if !n.LeaseDue.After(now) {
		if err := k.renew(ctx, n, now); err != nil {
			return fmt.Errorf("renewing the lease of node %s: %w", n.Name, err)
		}
		n.LeaseDue = now.Add(k.jittered(n, leasePeriod))
	}
	return nil
}

// jittered shortens a period by up to a 25th, as upstream's kubelet spreads its
// renewals. Each node has chances of its own, so that they do not depend on which is
// looked after first.
func (k *Kubelet) jittered(n *nodes.Node, period time.Duration) time.Duration {
	if k.opts.Random == nil {
		return period
	}
	if n.Random == nil {
		n.Random = k.opts.Random.Keyed(n.Name)
	}
	return period - time.Duration(n.Random.Float64()*float64(period)/25)
}

// register makes the Node, or takes up the one that is there.
func (k *Kubelet) register(ctx context.Context, n *nodes.Node, now time.Time) error {
	if n.Managed {
		return k.registerAgain(ctx, n, now)
	}
	object := nodes.Object(n, k.opts.versions(), now)
	created, err := k.opts.Client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.registerAgain(ctx, n, now)
	}
	if err != nil {
		return err
	}
	n.SetUID(created.UID)
	_, events := nodes.Conditions(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}, n.Troubled(), now)
	k.reportNode(n, n.Starting(events))
	return nil
}

// registerAgain takes up the Node that is there.
func (k *Kubelet) registerAgain(ctx context.Context, n *nodes.Node, now time.Time) error {
	object, err := k.opts.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if n.Managed && (apierrors.IsNotFound(err) || err == nil && n.LoseTo(object.UID)) {
		n.Lose(n.UID())
		return errGone
	}
	if err != nil {
		return err
	}
	n.SetUID(object.UID)
	if missing := nodes.MissingPatch(object, n, k.opts.versions()); missing != nil {
		patch, err := json.Marshal(missing)
		if err != nil {
			return fmt.Errorf("encoding the patch of node %s: %w", n.Name, err)
		}
		if object, err = k.opts.Client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	events, err := k.putNodeStatus(ctx, n, object, now)
	if err != nil {
		return err
	}
	k.reportNode(n, n.Starting(events))
	return nil
}

// writeNodeStatus writes the node's status if something of it has changed, or if it
// was not written for long.
func (k *Kubelet) writeNodeStatus(ctx context.Context, n *nodes.Node, now time.Time) error {
	object, err := k.nodeLister.Get(n.Name)
	if apierrors.IsNotFound(err) {
		// Just made and not yet delivered, or just deleted: loseNode will hear of that.
		object, err = k.opts.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	}
	if err != nil {
		return ignoreGone(err)
	}
	if n.Written != nil && newer(n.Written.ResourceVersion, object.ResourceVersion) {
		object = n.Written
	}
	if n.FullDue.After(now) && !nodes.StatusChanged(object, n, k.opts.versions(), now) {
		return nil
	}
	events, err := k.putNodeStatus(ctx, n, object, now)
	if err != nil {
		return ignoreGone(err)
	}
	n.FullDue = now.Add(reportPeriod)
	k.reportNode(n, events)
	return nil
}

func (k *Kubelet) putNodeStatus(ctx context.Context, n *nodes.Node, object *corev1.Node, now time.Time) ([]lifecycle.Event, error) {
	client := k.opts.Client.CoreV1().Nodes()
	var err error
	for range statusTries {
		update := *object
		var events []lifecycle.Event
		update.Status, events = nodes.Status(object, n, k.opts.versions(), n.LocalTime(now))
		var written *corev1.Node
		if written, err = client.UpdateStatus(ctx, &update, metav1.UpdateOptions{}); err == nil {
			n.Written = written
			return events, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, err
		}
		if object, err = client.Get(ctx, n.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// renew keeps the node's lease (KEP-589).
func (k *Kubelet) renew(ctx context.Context, n *nodes.Node, now time.Time) error {
	client := k.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	renewed := metav1.NewMicroTime(n.LocalTime(now).Truncate(time.Microsecond))
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID()}}
	if n.Lease == nil {
		seconds := int32(leaseDuration / time.Second)
		lease, err := client.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Namespace: corev1.NamespaceNodeLease, OwnerReferences: owners},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &n.Name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}, metav1.CreateOptions{})
		if err == nil {
			n.Lease = lease
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		if n.Lease, err = client.Get(ctx, n.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	lease := n.Lease.DeepCopy()
	// It may be left from a Node of the same name, with which it would be collected.
	lease.OwnerReferences = owners
	lease.Spec.HolderIdentity = &n.Name
	lease.Spec.RenewTime = &renewed
	updated, err := client.Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// The next attempt makes it or reads it anew.
		n.Lease = nil
	}
	if err != nil {
		return err
	}
	n.Lease = updated
	return nil
}

// reportNode reports events of the node.
func (k *Kubelet) reportNode(n *nodes.Node, events []lifecycle.Event) {
	if k.opts.Recorder == nil {
		return
	}
	reportNode(n.Recorder(k.opts.Recorder, Component), n.Name, events...)
}

// reportNode reports events of the Node of a name. Their UID is the node's name, as
// upstream's kubelets have it.
func reportNode(recorder *events.Recorder, name string, all ...lifecycle.Event) {
	for _, e := range all {
		recorder.Event(&corev1.ObjectReference{Kind: "Node", Name: name, UID: types.UID(name)}, e.Kind, e.Reason, e.Message)
	}
}
