package store

import (
	"context"
	"errors"
	"fmt"
)

// KeyValue is one key's state at one revision.
type KeyValue struct {
	Key string
	// Value is nil if it is empty. Callers must not modify it: watches share it.
	Value []byte
	// CreateRevision is the revision of the put that created the key.
	CreateRevision int64
	// ModRevision is the revision of the last put.
	ModRevision int64
}

// ListOptions narrow a List.
type ListOptions struct {
	// Revision is the revision to read at; 0 is the newest.
	Revision int64
	// Limit caps the number of keys returned; 0 is no limit.
	Limit int64
	// From is the first key to return; empty starts at the prefix.
	From string
	// KeysOnly omits the values.
	KeysOnly bool
}

// ListResult is a page of keys in ascending byte order.
type ListResult struct {
	KeyValues []KeyValue
	// Revision is the revision that the page was read at.
	Revision int64
	// Count is the number of keys from From on, at that revision.
	Count int64
}

// More reports whether keys remain beyond this page.
func (r *ListResult) More() bool { return r.Count > int64(len(r.KeyValues)) }

// EventType is the kind of change of a key.
type EventType int

// The types of event.
const (
	Put EventType = iota
	Delete
)

// Event is a change of one key.
type Event struct {
	Type EventType
	// KeyValue is the state after a Put. For a Delete it has the key, the
	// revision of the deletion as ModRevision, and no value.
	KeyValue KeyValue
}

// Batch is one delivery of a watch: all events of one or more whole revisions (never a
// part of one) or, without events, a progress notification: all events up to Revision
// have been delivered.
type Batch struct {
	Events   []Event
	Revision int64
}

// Watch is a stream of batches. The validators in package storetest define its
// guarantees.
type Watch interface {
	// Batches is closed when the watch ends: with its context, when the store is
	// closed, or after an error, which Err returns.
	Batches() <-chan Batch
	// Err returns why the watch ended, once Batches is closed: nil or the context's
	// error for a regular end, a *CompactedError if the requested revision is
	// compacted, an *UnavailableError if the connection broke.
	Err() error
}

// Store keeps bytes under keys, with a history of revisions. Each write creates one
// revision; revisions only grow.
type Store interface {
	// Get returns the key's newest state or, with revision > 0, its state at that
	// revision. It returns ErrNotFound if the key does not exist.
	Get(ctx context.Context, key string, revision int64) (*KeyValue, error)
	// List returns the keys that start with prefix.
	List(ctx context.Context, prefix string, opts ListOptions) (*ListResult, error)
	// Put writes value if the key's ModRevision is expected; expected 0 requires that
	// the key does not exist. The store may keep value, which must not be changed afterwards. It returns the new revision, or a *ConflictError. With
	// WithGuard, it may return a *GuardError.
	Put(ctx context.Context, key string, value []byte, expected int64) (int64, error)
	// Delete removes the key if its ModRevision is expected. It returns the revision of
	// the deletion, or a *ConflictError, whose Current is nil if the key does not
	// exist. With WithGuard, it may return a *GuardError.
	Delete(ctx context.Context, key string, expected int64) (int64, error)
	// Watch delivers every change to keys that start with prefix, from revision from on
	// (0: from now on). It returns once the watch is registered: it delivers every
	// write made afterwards.
	Watch(ctx context.Context, prefix string, from int64) (Watch, error)
	// RequestProgress makes every open watch whose prefix begins with prefix deliver a
	// progress batch, at or after the newest revision at the time of the call. The
	// empty prefix matches all watches.
	RequestProgress(ctx context.Context, prefix string) error
	// Revision is the newest revision.
	Revision(ctx context.Context) (int64, error)
	// Compact drops the history before revision.
	Compact(ctx context.Context, revision int64) error
	// Close ends all watches and frees all resources.
	Close() error
}

// ErrNotFound is returned for a key that does not exist.
var ErrNotFound = errors.New("key not found")

// ConflictError is returned by a write whose expected revision did not match.
type ConflictError struct {
	Key string
	// Current is the key's state; nil if it does not exist.
	Current *KeyValue
}

func (e *ConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("key %q does not exist", e.Key)
	}
	return fmt.Sprintf("key %q is at revision %d", e.Key, e.Current.ModRevision)
}

// CompactedError is returned for a revision that is compacted.
type CompactedError struct {
	// Compacted is the oldest revision that can still be read, or 0 if unknown.
	Compacted int64
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision has been compacted (oldest: %d)", e.Compacted)
}

// FutureRevisionError is returned for a revision that does not exist yet.
type FutureRevisionError struct {
	Current int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("revision is in the future (newest: %d)", e.Current)
}

// UnavailableError is returned when the store cannot be reached or does not accept
// writes. A write that fails with it may have been made.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "store unavailable: " + e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrTooLarge is returned for a value above the store's size limit.
var ErrTooLarge = errors.New("value is too large")

// ErrNoSpace is wrapped in the UnavailableError of a write to a store that has reached
// its quota. Reads and deletions still succeed.
var ErrNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// ErrClosed is wrapped in the UnavailableError of every operation after Close.
var ErrClosed = errors.New("the store is closed")

type attachedKey struct{}

// Detached returns a context with the values and the deadline of ctx but without its
// cancellation, for a write that must complete although its client has gone, so that
// its caller learns the outcome. The caller must call cancel to free the deadline's
// timer.
func Detached(ctx context.Context) (detached context.Context, cancel context.CancelFunc) {
	detached = context.WithValue(context.WithoutCancel(ctx), attachedKey{}, ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(detached, deadline)
	}
	return detached, func() {}
}

// Attached returns the context that ctx was derived from with Detached, or ctx. A wait before a write
// ends with it: the outcome of a write that was never sent is known.
func Attached(ctx context.Context) context.Context {
	if attached, ok := ctx.Value(attachedKey{}).(context.Context); ok {
		return attached
	}
	return ctx
}
