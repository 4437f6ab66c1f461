package plan

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/loop"
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

// Settle returns the result of a reconcile and its errors, joined. It drops stale errors,
// and marks the result unsure instead, because an event that is on its way resolves them.
// It also drops errors that say that the namespace is being deleted with everything in it.
func Settle(result loop.Result, errs ...error) (loop.Result, error) {
	var left []error
	for _, err := range errs {
		switch {
		case err == nil, NamespaceGoing(err):
		case IsStale(err):
			result.Unsure = true
		default:
			left = append(left, err)
		}
	}
	return result, errors.Join(left...)
}

// NamespaceGoing reports whether the error says that nothing can be created in the
// namespace because it is being deleted.
func NamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// stale wraps the errors of a write that mean that the object has changed or is gone.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return &StaleError{err}
	}
	return err
}
