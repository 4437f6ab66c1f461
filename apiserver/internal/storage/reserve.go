package storage

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reserve reserves the unique resources (addresses, ports) that obj needs, and writes them
// into obj, which is about to be stored in place of old. old is nil for a new object, obj
// is nil for a deletion. A dry run reserves nothing. The caller calls done with the
// outcome: nil, the store's error, a *NotStoredError, or ErrDryRun.
type Reserve func(ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)

// ErrDryRun is the outcome of a successful dry run.
var ErrDryRun = errors.New("dry run")

// NotStoredError is the error of a write that failed before the store was called.
type NotStoredError struct{ Err error }

func (e *NotStoredError) Error() string { return e.Err.Error() }

// Unwrap returns the reason, an API error.
func (e *NotStoredError) Unwrap() error { return e.Err }

// reserving runs a write between the call of the resource's Reserve and the call of done.
func (o *Objects) reserving(ctx context.Context, obj, old runtime.Object, dryRun bool, write func() error) error {
	if o.reserve == nil {
		return write()
	}
	done, err := o.reserve(ctx, obj, old, dryRun)
	if err != nil {
		return err
	}
	outcome := errors.New("the write panicked")
	defer func() { done(outcome) }()
	err = write()
	if outcome = err; err == nil && dryRun {
		outcome = ErrDryRun
	}
	return err
}
