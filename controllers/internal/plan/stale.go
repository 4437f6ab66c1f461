package plan

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// StaleError means that an object is no longer as the cache had it when the plan was made.
// It is not a failure: the event of the change enqueues the owner again.
type StaleError struct{ Err error }

func (e *StaleError) Error() string { return "decided on an old state: " + e.Err.Error() }

func (e *StaleError) Unwrap() error { return e.Err }

// IsStale reports whether err is, wraps or joins a StaleError.
func IsStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}

// NamespaceGoing reports whether the error says that nothing can be created in the
// namespace because it is being deleted.
func NamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// NeedsNoRetry reports whether the error of a write needs no retry, because an event follows, or nothing is left to do:
// the object exists already or is gone, or its namespace is being deleted.
func NeedsNoRetry(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || NamespaceGoing(err)
}
