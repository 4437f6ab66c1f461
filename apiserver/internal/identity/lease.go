package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/members"
)

// Upstream's times of identity Leases.
const (
	// LeaseDuration is how long a Lease is valid after its last renewal.
	LeaseDuration = time.Hour
	// RenewInterval is the time between two renewals.
	RenewInterval = 10 * time.Second
	// CollectInterval is the time between two deletions of expired Leases.
	CollectInterval = time.Hour
)

// Lease is the identity Lease of an API server that is alone on its store. A server on a shared store is
// identified by its Lease as a member (package members).
type Lease struct {
	Client kubernetes.Interface
	Clock  clock.Clock
	// Name is the server's ID.
	Name string
	// Hostname labels the Lease; empty: no label.
	Hostname string
	// Holder is unique among the processes that have the name one after another.
	Holder string
}

func (l *Lease) leases() coordinationclient.LeaseInterface {
	return l.Client.CoordinationV1().Leases(members.Namespace)
}

// Take creates the Lease. It replaces the Lease of an earlier process with the same ID.
func (l *Lease) Take(ctx context.Context) error {
	return errors.Join(l.Release(ctx), l.create(ctx))
}

func (l *Lease) create(ctx context.Context) error {
	labels := map[string]string{members.IdentityLabel: members.IdentityValue}
	if l.Hostname != "" && len(validation.IsValidLabelValue(l.Hostname)) == 0 {
		labels[corev1.LabelHostname] = l.Hostname
	}
	_, err := l.leases().Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: l.Name, Namespace: members.Namespace, Labels: labels},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &l.Holder, LeaseDurationSeconds: ptr.To(int32(LeaseDuration / time.Second)),
			RenewTime: &metav1.MicroTime{Time: l.Clock.Now()},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the identity Lease %s: %w", l.Name, err)
	}
	return nil
}

// Renew renews the Lease, and creates it if a client has deleted it.
func (l *Lease) Renew(ctx context.Context) error {
	lease, err := l.leases().Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return l.create(ctx)
	}
	if err == nil {
		lease.Spec.RenewTime = &metav1.MicroTime{Time: l.Clock.Now()}
		_, err = l.leases().Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing the identity Lease %s: %w", l.Name, err)
	}
	return nil
}

// Release deletes the Lease.
func (l *Lease) Release(ctx context.Context) error {
	if err := l.leases().Delete(ctx, l.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the identity Lease %s: %w", l.Name, err)
	}
	return nil
}

// Collect deletes the identity Leases that have expired. It returns the errors of the deletes that failed.
func (l *Lease) Collect(ctx context.Context) error {
	list, err := l.leases().List(ctx, metav1.ListOptions{LabelSelector: members.Selector})
	if err != nil {
		return fmt.Errorf("listing the identity Leases: %w", err)
	}
	now := l.Clock.Now()
	var errs []error
	for i := range list.Items {
		lease := &list.Items[i]
		if !expired(lease, now) {
			continue
		}
		err := l.leases().Delete(ctx, lease.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion},
		})
		// After a conflict, the Lease was renewed or replaced.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("deleting the identity Lease %s, which has expired: %w", lease.Name, err))
		}
	}
	return errors.Join(errs...)
}

// expired reports whether an identity Lease is no longer valid. One without a time of renewal or a duration never was.
func expired(lease *coordinationv1.Lease, now time.Time) bool {
	renewed, seconds := lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds
	return renewed == nil || seconds == nil || renewed.Add(time.Duration(*seconds)*time.Second).Before(now)
}
