package plan

import (
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

// IsStale reports whether err, or one that it joins, says that the cache was behind.
func IsStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}

// Settle is how a reconcile ends: with its result, and with the errors of what it did,
// joined. It leaves out those that an event on its way answers, of which the result is
// unsure then, and those that say that the namespace is going and all in it.
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

// NamespaceGoing reports whether the error is that nothing can be created any
// more in a namespace that is being deleted.
func NamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// stale marks the errors of a write that mean that the object has changed or gone.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return &StaleError{err}
	}
	return err
}
