package plan

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/loop"
)

// StaleError says that an object was no longer as the cache had it when the plan
// was made. Nothing is wrong: what has changed comes as an event and wakes the
// owner again.
type StaleError struct{ Err error }

func (e *StaleError) Error() string { return "decided on an old state: " + e.Err.Error() }

func (e *StaleError) Unwrap() error { return e.Err }

// IsStale reports whether err, and every error that it joins, only says that the
// cache was behind.
func IsStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}

// Settle is how a reconcile ends: it makes nil of an error that an event on its
// way answers, or that says that the namespace is going and all in it.
func Settle(err error) error {
	if err == nil || IsStale(err) || NamespaceGoing(err) {
		return nil
	}
	return err
}

// NamespaceGoing reports whether the error is that nothing can be created any
// more in a namespace that is being deleted.
func NamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// stale marks the errors of a write that mean that the object has changed or gone. The
// owner is looked at again all the same if no event tells of that.
func stale(ctx context.Context, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		loop.InCase(ctx)
		return &StaleError{err}
	}
	return err
}
