package storage

import (
	"bytes"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/store"
)

// Change returns the new state of an object, given the current one, which it must not
// modify. current is nil if the object does not exist and CreateIfMissing is set. It
// returns ErrDelete, with the object's last state, to delete the object instead.
type Change func(current runtime.Object) (runtime.Object, error)

// ErrDelete is returned by a Change to delete the object; the returned object is its last
// state.
var ErrDelete = errors.New("object is to be deleted")

// UpdateOptions configure an Update.
type UpdateOptions struct {
	// CreateIfMissing calls the Change with nil if the object does not exist.
	CreateIfMissing bool
	DryRun          bool
	// Renew writes the object even if it does not change, so that it gets a new
	// resourceVersion.
	Renew bool
	// After is the result of a write that the caller has just made; the first attempt starts from its
	// object, which the cache may not have yet.
	After *Result
	// Same returns the result of a Change without changes, for a Change that converts to
	// another version and back; nil means the object itself.
	Same func(current runtime.Object) runtime.Object
}

// Result is the outcome of a write.
type Result struct {
	Object runtime.Object
	// Old is the state before, which must not be modified; nil if there was none.
	Old      runtime.Object
	Revision int64
	// Created and Deleted report that the Update created or deleted the object, Unchanged that nothing had to be
	// written.
	Created, Deleted, Unchanged bool

	// encoded is the value that an Update without changes would have stored; nil: it did not get that far.
	encoded []byte
}

// Update applies change to the newest object, and again after each conflict. The first
// attempt uses the cache's copy. It may be stale, so an error of change, or a result equal
// to it, is only accepted if the stored object has the same revision, or after an attempt with the stored
// object:
//
//	T1 another process writes the object at revision 8; the cache is still at 7
//	T2 Update(change) reads revision 7 from the cache; change sets what 7 has already
//	T3 the result equals revision 7, but the copy is not fresh: Update reads 8 from the store
//	T4 change is applied to revision 8 and written with expected revision 8
//
// Without T3 the update would report success although revision 8 had undone it. A write of
// a stale copy needs no such check: the store refuses it with a conflict that includes the
// current state. change calls webhooks, so it is not repeated for a state that it has seen.
func (o *Objects) Update(ctx context.Context, key, name string, change Change, opts UpdateOptions) (Result, error) {
	before, err := o.start(ctx, key, name, opts)
	if err != nil {
		return Result{}, err
	}
	for {
		result, err := o.try(ctx, key, before, change, opts)
		var conflict *store.ConflictError
		var unavailable *store.UnavailableError
		var guard *store.GuardError
		var notStored *NotStoredError
		switch {
		case err == nil && (before.fresh || !result.Unchanged && !opts.DryRun):
			return result, nil
		case errors.As(err, &conflict):
			if conflict.Current == nil && !opts.CreateIfMissing {
				return Result{}, apierrors.NewNotFound(o.row.GroupResource(), name)
			}
			if before, err = o.stateOf(conflict.Current); err != nil {
				return Result{}, err
			}
		case errors.As(err, &guard), errors.As(err, &notStored):
			return Result{}, o.translate(err, name)
		case errors.As(err, &unavailable): // the write may have been made: do not repeat it
			return Result{}, o.translate(err, name)
		case !before.fresh:
			kv, missing := o.reread(ctx, key, name, opts)
			if missing != nil {
				return Result{}, missing
			}
			if kv != nil && kv.ModRevision == before.revision && o.holds(*kv, result, err) {
				return result, o.translate(err, name)
			}
			if before, err = o.stateOf(kv); err != nil {
				return Result{}, err
			}
		default:
			return Result{}, o.translate(err, name)
		}
	}
}

// state is the object that an attempt starts from.
type state struct {
	// object is nil if it does not exist; revision is then 0.
	object   runtime.Object
	revision int64
	// fresh reports that the state is from the store; value has the stored bytes, decrypted.
	// It is nil if they are to be encrypted in another way, so that the next update writes
	// even if nothing changes.
	fresh bool
	value []byte
}

// stateOf returns the state for a key of the store; nil means that it does not exist.
func (o *Objects) stateOf(kv *store.KeyValue) (state, error) {
	if kv == nil {
		return state{fresh: true}, nil
	}
	opened, stale, err := o.open(*kv)
	if err != nil {
		return state{}, errorOfOne(err)
	}
	obj, err := o.decodePlain(opened)
	if err != nil {
		return state{}, errorOfOne(err)
	}
	before := state{object: obj, revision: kv.ModRevision, fresh: true, value: opened.Value}
	if stale {
		before.value = nil
	}
	return before, nil
}

// start returns the state of the first attempt: the one after another write, or the cache's copy if
// there is one.
func (o *Objects) start(ctx context.Context, key, name string, opts UpdateOptions) (state, error) {
	if opts.After != nil {
		return state{object: opts.After.Object, revision: opts.After.Revision}, nil
	}
	entry, _, err := o.cache.Get(ctx, key, 0)
	if err == nil && entry != nil {
		return state{object: entry.Object(), revision: entry.Revision}, nil
	}
	kv, err := o.reread(ctx, key, name, opts)
	if err != nil {
		return state{}, err
	}
	return o.stateOf(kv)
}

// reread reads the stored object; nil if it does not exist and may be created.
func (o *Objects) reread(ctx context.Context, key, name string, opts UpdateOptions) (*store.KeyValue, error) {
	kv, err := o.store.Get(ctx, key, 0)
	if err != nil && (!errors.Is(err, store.ErrNotFound) || !opts.CreateIfMissing) {
		return nil, o.translate(err, name)
	}
	return kv, nil
}

// holds reports whether an attempt with the cache's copy, at the revision of kv, has the same outcome as
// an attempt with kv. It has another one if nothing changes, but the object is stored in another encoding
// than it would be now.
func (o *Objects) holds(kv store.KeyValue, result Result, err error) bool {
	if err != nil || !result.Unchanged || result.encoded == nil {
		return true
	}
	opened, stale, err := o.open(kv)
	return err == nil && !stale && bytes.Equal(opened.Value, result.encoded)
}

// try applies change once. It returns a *store.ConflictError unchanged.
func (o *Objects) try(ctx context.Context, key string, before state, change Change, opts UpdateOptions) (Result, error) {
	current := before.object
	updated, err := change(current)
	var result Result
	switch {
	case errors.Is(err, ErrDelete):
		err = o.reserving(ctx, nil, current, opts.DryRun, func() (err error) {
			result, err = o.remove(ctx, key, updated, before.revision, opts.DryRun)
			return err
		})
	case err != nil:
	case current != nil && updated == current:
		result = Result{Object: current, Revision: before.revision, Unchanged: true}
	default:
		err = o.reserving(ctx, updated, current, opts.DryRun, func() (err error) {
			result, err = o.replace(ctx, key, before, updated, opts)
			return err
		})
	}
	result.Old = current
	return result, err
}

// replace stores updated in place of before, unless they are equal.
func (o *Objects) replace(ctx context.Context, key string, before state, updated runtime.Object, opts UpdateOptions) (Result, error) {
	value, err := o.encode(updated)
	if err != nil {
		return Result{}, err
	}
	same, err := o.unchanged(before, value, opts)
	if err != nil {
		return Result{}, err
	}
	if same && !opts.Renew {
		return Result{Object: before.object, Revision: before.revision, Unchanged: true, encoded: value}, nil
	}
	if opts.DryRun {
		if o.checks != nil {
			if err := o.checks.DryPut(ctx, key, value, before.revision); err != nil {
				return Result{}, err
			}
		}
		read, err := o.decodePlain(store.KeyValue{Key: key, Value: value, ModRevision: before.revision})
		return Result{Object: read, Revision: before.revision, Created: before.object == nil}, codingErrorOf(err)
	}
	stored, err := o.putBytes(ctx, key, value, updated, before.revision)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: stored, Revision: RevisionOf(stored), Created: before.object == nil}, nil
}

// unchanged reports whether value is stored already; such an update does not write. As
// upstream, an update without changes does write if the object is stored in another
// encoding than it would be now (an older version, or without defaults that its schema has
// got since). The cache's copy is assumed to be stored in the current encoding; Update
// checks that with the store.
func (o *Objects) unchanged(before state, value []byte, opts UpdateOptions) (bool, error) {
	if before.fresh {
		return before.object != nil && bytes.Equal(before.value, value), nil
	}
	same := before.object
	if opts.Same != nil {
		same = opts.Same(same)
	}
	return o.encodesTo(same, value)
}

// encodesTo reports whether the stored form of obj, regardless of its resourceVersion, is value.
func (o *Objects) encodesTo(obj runtime.Object, value []byte) (bool, error) {
	copied, done := o.scratch.shallow(obj)
	defer done()
	clearRevision(copied)
	if o.row.Stored != nil {
		seems, err := o.toBytes(copied)
		return err == nil && bytes.Equal(seems, value), notStored(err)
	}
	same, err := codec.IsStored(o.storedKind(), copied, value)
	return same, notStored(err)
}

func (o *Objects) remove(ctx context.Context, key string, last runtime.Object, revision int64, dryRun bool) (Result, error) {
	if dryRun {
		if o.checks != nil {
			if err := o.checks.DryDelete(ctx, key, revision); err != nil {
				return Result{}, err
			}
		}
		return Result{Object: last, Revision: revision, Deleted: true}, nil
	}
	deleted, err := o.Remove(ctx, key, revision)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: WithRevision(last, deleted), Revision: deleted, Deleted: true}, nil
}

// RevisionOf returns the revision of an object; 0 if it has none.
func RevisionOf(obj runtime.Object) int64 {
	m, err := meta.Accessor(obj)
	if err != nil {
		return 0
	}
	revision, _ := ParseRevision(m.GetResourceVersion())
	return revision
}

// Remove deletes a key at the given revision, regardless of its object's finalizers. It
// returns the revision of the deletion, or a *store.ConflictError.
func (o *Objects) Remove(ctx context.Context, key string, revision int64) (int64, error) {
	ctx, cancel := store.Detached(ctx)
	defer cancel()
	deleted, err := o.store.Delete(ctx, key, revision)
	if err == nil {
		o.committed(deleted)
	}
	return deleted, err
}
