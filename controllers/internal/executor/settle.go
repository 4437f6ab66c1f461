package executor

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Settle returns the result of a reconcile and its errors, joined. It drops stale errors,
// and marks the result unsure instead, because an event that is on its way resolves them.
// It also drops errors that say that the namespace is being deleted with everything in it.
func Settle(result loop.Result, errs ...error) (loop.Result, error) {
	var left []error
	for _, err := range errs {
		switch {
		case err == nil, plan.NamespaceGoing(err):
		case plan.IsStale(err):
			result.Unsure = true
		default:
			left = append(left, err)
		}
	}
	return result, errors.Join(left...)
}

// stale wraps the errors of a write that mean that the object has changed or is gone.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return &plan.StaleError{Err: err}
	}
	return err
}
