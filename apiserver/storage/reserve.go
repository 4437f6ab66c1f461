package storage

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// Reserve takes from what the cluster has only once (addresses, ports) what obj
// needs, and writes it into obj, which is about to be stored in place of old. old is
// nil when obj is new, obj when old is about to be deleted. A dry run stores nothing, and
// takes nothing. done is called with what came of it: nil, the store's error, a
// *NotStoredError, or ErrDryRun.
type Reserve func(ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)

// ErrDryRun tells a Reserve that nothing was stored because nothing was to be.
var ErrDryRun = errors.New("dry run")

// NotStoredError is the error of a write that is refused before the store is asked for it.
type NotStoredError struct{ Err error }

func (e *NotStoredError) Error() string { return e.Err.Error() }

// Unwrap returns the reason, an API error.
func (e *NotStoredError) Unwrap() error { return e.Err }

// reserving runs a write between the two halves of the resource's Reserve.
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
