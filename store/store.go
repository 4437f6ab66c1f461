package store

import (
	"context"
	"errors"
	"fmt"
)

// KeyValue is one key's state at one revision.
type KeyValue struct {
	Key string
	// Value is nil for an empty one. It must not be written to: watches share it.
	Value []byte
	// CreateRevision is the revision of the put that created the key.
	CreateRevision int64
	// ModRevision is the revision of the last put.
	ModRevision int64
}

// ListOptions narrow a List.
type ListOptions struct {
	// Revision reads the state at that revision; 0 is the newest.
	Revision int64
	// Limit is the most keys that are returned; 0 is no limit.
	Limit int64
	// From is the first key wanted; empty is the prefix itself.
	From string
	// KeysOnly leaves the values out.
	KeysOnly bool
}

// ListResult is a page of keys in ascending byte order.
type ListResult struct {
	KeyValues []KeyValue
	// Revision is the one that the page was read at.
	Revision int64
	// Count is how many keys there are from From on, at that revision.
	Count int64
}

// More reports whether keys remain beyond this page.
func (r *ListResult) More() bool { return r.Count > int64(len(r.KeyValues)) }

// EventType is what happened to a key.
type EventType int

// The types of event.
const (
	Put EventType = iota
	Delete
)

// Event is one key's change.
type Event struct {
	Type EventType
	// KeyValue is the state after a Put. For a Delete it has the key, the
	// revision of the deletion as ModRevision, and no value.
	KeyValue KeyValue
	// Previous is the state before; nil when the key was created.
	Previous *KeyValue
}

// Batch is what a watch delivers at once: all events of one or more whole
// revisions (never a part of one), or, with no events, progress: everything up to
// Revision has been delivered.
type Batch struct {
	Events   []Event
	Revision int64
}

// Watch is a stream of batches. See package storetest's validators for what it
// guarantees.
type Watch interface {
	// Batches is closed when the watch ends: by its context, by Close of the
	// store, or by an error that Err then returns.
	Batches() <-chan Batch
	// Err is why the watch ended, once Batches is closed: nil or the context's
	// error for a wanted end, a *CompactedError when the revision asked for is
	// gone, or what broke the connection.
	Err() error
}

// Store keeps bytes under keys, and a history of revisions. One revision is one
// write; revisions of a store only grow.
type Store interface {
	// Get returns the key's newest state, or with revision > 0 the one at that
	// revision. A missing key is ErrNotFound.
	Get(ctx context.Context, key string, revision int64) (*KeyValue, error)
	// List returns the keys that start with prefix.
	List(ctx context.Context, prefix string, opts ListOptions) (*ListResult, error)
	// Put writes value if the key's ModRevision is expected; expected 0 means that
	// the key must not exist. It returns the new revision, or a *ConflictError.
	Put(ctx context.Context, key string, value []byte, expected int64) (int64, error)
	// Delete removes the key if its ModRevision is expected. It returns the
	// revision of the deletion, or a *ConflictError (whose Current is nil when the
	// key does not exist).
	Delete(ctx context.Context, key string, expected int64) (int64, error)
	// Watch delivers every change to keys that start with prefix, from revision
	// from on (0: from now on). It returns once the watch is registered, so that
	// no write made afterwards is missed.
	Watch(ctx context.Context, prefix string, from int64) (Watch, error)
	// RequestProgress asks that every open watch whose prefix begins with this one
	// deliver a progress batch that is at or after the newest revision at the time of
	// the call. The empty prefix asks all of them.
	RequestProgress(ctx context.Context, prefix string) error
	// Revision is the newest revision.
	Revision(ctx context.Context) (int64, error)
	// Compact forgets history before revision.
	Compact(ctx context.Context, revision int64) error
	// Close ends all watches and frees all that the store holds.
	Close() error
}

// ErrNotFound is returned for a key that does not exist.
var ErrNotFound = errors.New("key not found")

// ConflictError is returned by a write whose expectation did not hold.
type ConflictError struct {
	Key string
	// Current is the key's state; nil when it does not exist.
	Current *KeyValue
}

func (e *ConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("key %q does not exist", e.Key)
	}
	return fmt.Sprintf("key %q is at revision %d", e.Key, e.Current.ModRevision)
}

// CompactedError is returned for a revision that has been compacted.
type CompactedError struct {
	// Compacted is the oldest revision that can still be read, or 0 when unknown.
	Compacted int64
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision has been compacted (oldest: %d)", e.Compacted)
}

// FutureRevisionError is returned for a revision that has not happened yet.
type FutureRevisionError struct {
	Current int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("revision is in the future (newest: %d)", e.Current)
}

// UnavailableError is returned when the store cannot be reached or cannot take
// writes. The write may or may not have happened.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "store unavailable: " + e.Err.Error() }

func (e *UnavailableError) Unwrap() error { return e.Err }

// ErrTooLarge is returned for a value that is larger than the store takes.
var ErrTooLarge = errors.New("value is too large")

// ErrNoSpace is inside the UnavailableError of a write to a store that has grown to
// its limit. Reads and deletions go on.
var ErrNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// ErrClosed is inside the UnavailableError of every operation after Close.
var ErrClosed = errors.New("the store is closed")

// Detached returns ctx without its cancellation, but with its values and its deadline:
// a write that goes on when its client has gone, so that whoever makes it learns how it
// ended. cancel frees what the deadline takes.
func Detached(ctx context.Context) (detached context.Context, cancel context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithoutCancel(ctx), func() {}
}
