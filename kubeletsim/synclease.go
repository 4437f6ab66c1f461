package kubeletsim

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// The lease of a node with upstream's default configuration (KEP-589). It is renewed every quarter
// of its duration. An attempt that fails is repeated at once, renewTries times in all; then the
// lease is read or created again, with a back-off.
const (
	leaseDuration    = 40 * time.Second
	leasePeriod      = 10 * time.Second
	renewTries       = 5
	firstEnsureRetry = 200 * time.Millisecond
	lastEnsureRetry  = 7 * time.Second
)

// heartbeatTimeout limits a request of upstream's client for heartbeats: leases and the status of the
// Node. It is the period of the status updates.
const heartbeatTimeout = statusPeriod

// syncLease renews the lease of a node when that is due, whatever the updates of the node's status
// wait for, as a kubelet does. unbound is not the context of a node yet.
func (k *nodeManager) syncLease(unbound context.Context, key key) {
	n := k.nodes.Get(key.id)
	if n == nil || !n.Reachable() || !n.Registered.Load() {
		k.due.Set(key, time.Time{}) // syncNode queues it
		return
	}
	e := &n.Renewal.Elided
	e.Lock()
	defer e.Unlock()
	now := k.opts.Clock.Now()
	k.skip(n, heartbeats.Leases, now)
	if hurried := n.Renewal.TakeHurry(); n.Renewal.Due.After(now) && !hurried {
		if !e.On.Load() {
			k.due.Set(key, n.Renewal.Due)
		}
		return
	}
	var trace heartbeats.Trace
	ctx := heartbeats.WithTrace(k.asNode(unbound, n.Name), &trace)
	err := k.renew(ctx, n, time.Time{})
	if ctx.Err() != nil {
		return
	}
	now = k.opts.Clock.Now()
	switch {
	case err == nil:
		n.Renewal.Failures = 0
		n.Renewal.Due = k.gathered(now.Add(k.jittered(n, leasePeriod)))
		heard := n.Renewal.Advance(n.Renewal.Lease.Spec.RenewTime)
		e.Owed, e.Noticed = time.Time{}, trace.Noticed() || !heard
		if was := e.On.Load(); k.elide(n, heartbeats.Leases, e.Stirs.Load()) {
			k.due.Set(key, time.Time{})
			return
		} else if was {
			k.opts.Heartbeats.Announce(n.Name)
		}
	case n.Renewal.Lease == nil:
		delay := min(firstEnsureRetry<<min(n.Renewal.Failures, 10), lastEnsureRetry)
		n.Renewal.Failures++
		k.opts.Logger.Error(err, "Failed to ensure lease exists, will retry", "node", klog.KRef("", n.Name), "after", delay)
		n.Renewal.Due = now.Add(delay)
	default:
		k.opts.Logger.Error(err, "Will retry updating lease", "node", klog.KRef("", n.Name), "after", leasePeriod)
		n.Renewal.Due = now.Add(leasePeriod)
	}
	if err != nil && e.On.Load() {
		k.write(n, heartbeats.Leases)
	}
	k.due.Set(key, n.Renewal.Due)
}

// renew renews the lease that is known. If that fails, it reads or creates the lease, and renews one
// that it has read. On an error, Renewal.Lease is nil if the lease could not be read or created. sent is when
// the renewal was sent if it is written late, otherwise zero.
func (k *nodeManager) renew(ctx context.Context, n *nodes.Node, sent time.Time) error {
	if n.Renewal.Lease != nil {
		err := k.updateLease(ctx, n, sent)
		if err == nil || ctx.Err() != nil {
			return err
		}
		k.opts.Logger.Error(err, "Failed to update lease using latest lease, fallback to ensure lease", "node", klog.KRef("", n.Name))
		n.Renewal.Lease = nil
	}
	created, err := k.ensureLease(ctx, n)
	if err != nil || created {
		return err
	}
	return k.updateLease(ctx, n, sent)
}

// ensureLease reads the lease, or creates it.
func (k *nodeManager) ensureLease(ctx context.Context, n *nodes.Node) (created bool, err error) {
	client := k.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	var lease *coordinationv1.Lease
	err = k.heartbeatRequest(ctx, func(ctx context.Context) (err error) {
		lease, err = client.Get(ctx, n.Name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		created = true
		lease = k.newLease(n, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Namespace: corev1.NamespaceNodeLease}}, time.Time{})
		err = k.heartbeatRequest(ctx, func(ctx context.Context) (err error) {
			lease, err = client.Create(ctx, lease, metav1.CreateOptions{})
			return err
		})
	}
	if err != nil {
		return false, err
	}
	n.Renewal.Lease = lease
	if !created { // another client may have written a later time
		n.Renewal.Advance(lease.Spec.RenewTime)
	}
	return created, nil
}

// updateLease renews the lease that is known, in several attempts.
func (k *nodeManager) updateLease(ctx context.Context, n *nodes.Node, sent time.Time) (err error) {
	client := k.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for range renewTries {
		lease := k.newLease(n, n.Renewal.Lease.DeepCopy(), sent)
		err = k.heartbeatRequest(ctx, func(ctx context.Context) (err error) {
			lease, err = client.Update(ctx, lease, metav1.UpdateOptions{})
			return err
		})
		if err == nil {
			n.Renewal.Lease = lease
			n.Renewal.Lease.ManagedFields = nil // an update without them keeps them
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if apierrors.IsConflict(err) {
			n.Renewal.Lease = nil
			if _, err := k.ensureLease(ctx, n); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("failed %d attempts to update lease: %w", renewTries, err)
}

// newLease sets the fields that a kubelet writes. A lease of an earlier Node of the same name would
// be garbage-collected with that Node.
func (k *nodeManager) newLease(n *nodes.Node, lease *coordinationv1.Lease, sent time.Time) *coordinationv1.Lease {
	if sent.IsZero() {
		sent = k.opts.Clock.Now()
	}
	seconds := int32(leaseDuration / time.Second)
	renewed := metav1.NewMicroTime(n.LocalTime(sent).Truncate(time.Microsecond))
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID()}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &n.Name, &seconds, &renewed
	return lease
}

// heartbeatRequest makes one request within the time-out of heartbeats, on the cluster's clock.
func (k *nodeManager) heartbeatRequest(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, stop := clock.WithTimeout(ctx, k.opts.Clock, heartbeatTimeout)
	defer stop()
	return request(ctx)
}
