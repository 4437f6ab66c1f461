package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Epochs are for processes that share a store, as charges are for one process: no count
// of a quota lowers its usage while a write that it may have missed can still be stored.
// A process cannot know the open charges of another, which may be paused for any time, so
// it makes them invalid: a write is charged in an epoch and stored only in that epoch.
//
//	T1 B reads epoch 1, and charges a create: the quota's status is at revision 6, 20 of 20 used
//	T2 the controller reads revision 6 and counts the objects: 19
//	T3 the controller writes 19 on top of revision 6, through A: revision 6 is not settled, so A
//	   begins epoch 2, renews the quota (revision 7), settles that, and answers with a conflict
//	T4 B stores its object on condition of epoch 1, and fails; had it been before T3, it would
//	   be in all counts from T5 on
//	T5 the controller reads revision 7 and counts: 19
//	T6 the controller writes 19 on top of revision 7, which is settled
//
// The usage at a settled revision has no charge that is open: those before the renewal are of
// an earlier epoch, and one after it would have changed the revision. A renewal fails if a
// charge came after the revision that the controller wrote on top of, because that charge may
// be of the new epoch.
type Epochs interface {
	// Current returns the namespace's epoch: a key, and its revision.
	Current(ctx context.Context, namespace string) (key string, revision int64, err error)
	// Advance begins a new epoch. Writes that were charged in an earlier one fail from now on.
	Advance(ctx context.Context, namespace string) error
	// Settled reports whether Settle was called for this revision of the quota.
	Settled(ctx context.Context, quota *corev1.ResourceQuota) (bool, error)
	// Settle records that all charges in this revision's usage are of earlier epochs.
	Settle(ctx context.Context, quota *corev1.ResourceQuota) error
	// Forget drops what Settle recorded, because the quota is deleted.
	Forget(ctx context.Context, namespace, name string) error
}

// settleFirst prepares a quota for a lower usage. It returns nil if the usage that was read
// has no open charges; otherwise a conflict, after which the usage must be counted again.
func (p *ResourceQuota) settleFirst(ctx context.Context, old *corev1.ResourceQuota) error {
	settled, err := p.Epochs.Settled(ctx, old)
	if err != nil || settled {
		return err
	}
	if err := p.Epochs.Advance(ctx, old.Namespace); err != nil {
		return err
	}
	renewed, err := p.Renew(ctx, old.Namespace, old.Name, old.ResourceVersion)
	if err != nil {
		return err
	}
	if err := p.Epochs.Settle(ctx, renewed); err != nil {
		return err
	}
	return errMayHaveMissed(old.Name)
}

// errMayBeUncounted returns the error for a write whose charge a count of its quota may have missed:
// clients repeat it, and are charged again.
func errMayBeUncounted() error {
	const retryAfter = 1 // seconds; the count has ended by then
	return apierrors.NewTooManyRequests("nothing was written: the usage of a resource quota was counted meanwhile; try again", retryAfter)
}

// chargeInEpoch makes a write depend on the present epoch, before it is charged.
func (p *ResourceQuota) chargeInEpoch(ctx context.Context, write *Attributes) error {
	if p.Epochs == nil || write.DryRun || write.Require == nil {
		return nil
	}
	key, revision, err := p.Epochs.Current(ctx, write.Namespace)
	if err != nil {
		return err
	}
	write.Require(key, revision, func(context.Context) (int64, error) { return 0, errMayBeUncounted() })
	return nil
}
