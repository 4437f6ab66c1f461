package storage

import (
	"bytes"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/store"
)

// Change makes the new state of an object from the current one, which it must not
// change. current is nil when there is none and the caller allows that. Returning
// ErrDelete asks that the object be removed instead.
type Change func(current runtime.Object) (runtime.Object, error)

// ErrDelete is returned by a Change whose outcome is that the object goes: the
// object that it returned with it is what the object last was.
var ErrDelete = errors.New("object is to be deleted")

// UpdateOptions narrow an Update.
type UpdateOptions struct {
	// CreateIfMissing calls the Change with nil when there is no object.
	CreateIfMissing bool
	DryRun          bool
	// Same is what a Change that changes nothing makes of an object, for one that converts
	// to another version and back; nil is the object itself.
	Same func(current runtime.Object) runtime.Object
}

// Result is what came of a write.
type Result struct {
	Object runtime.Object
	// Old is the state before, which nobody may change; nil: there was none.
	Old      runtime.Object
	Revision int64
	// Created and Deleted say which way an Update ended, Unchanged that nothing
	// had to be written.
	Created, Deleted, Unchanged bool
}

// Update applies change to the newest object, as often as others are faster. The
// cache's copy serves the first try: what it is refused on account of, or seems to
// be already, may be out of date, so that the store has the last word.
func (o *Objects) Update(ctx context.Context, key, name string, change Change, opts UpdateOptions) (Result, error) {
	before, err := o.start(ctx, key, name, opts)
	if err != nil {
		return Result{}, err
	}
	for {
		result, err := o.try(ctx, key, before, change, opts)
		var conflict *store.ConflictError
		var unavailable *store.UnavailableError
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
		case errors.As(err, &unavailable): // it may have been done: not twice
			return Result{}, o.translate(err, name)
		case !before.fresh:
			if before, err = o.reread(ctx, key, name, opts); err != nil {
				return Result{}, err
			}
		default:
			return Result{}, o.translate(err, name)
		}
	}
}

// state is the object that an update begins with.
type state struct {
	// object is nil where there is none, whose revision is 0.
	object   runtime.Object
	revision int64
	// fresh says that the store has been asked, and value what it had.
	fresh bool
	value []byte
}

// stateOf is what the store said; nil: that there is no object.
func (o *Objects) stateOf(kv *store.KeyValue) (state, error) {
	if kv == nil {
		return state{fresh: true}, nil
	}
	obj, err := o.decode(*kv)
	if err != nil {
		return state{}, codingError(err)
	}
	return state{object: obj, revision: kv.ModRevision, fresh: true, value: kv.Value}, nil
}

// start finds the object to begin with: the cache's if it has one.
func (o *Objects) start(ctx context.Context, key, name string, opts UpdateOptions) (state, error) {
	entry, _, err := o.cache.Get(ctx, key, 0)
	if err == nil && entry != nil {
		return state{object: entry.Object, revision: entry.Revision}, nil
	}
	return o.reread(ctx, key, name, opts)
}

func (o *Objects) reread(ctx context.Context, key, name string, opts UpdateOptions) (state, error) {
	kv, err := o.store.Get(ctx, key, 0)
	if err != nil && (!errors.Is(err, store.ErrNotFound) || !opts.CreateIfMissing) {
		return state{}, o.translate(err, name)
	}
	return o.stateOf(kv)
}

// try applies change once. A *store.ConflictError comes back as it is.
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

// replace stores updated in place of what was before, unless they are the same.
func (o *Objects) replace(ctx context.Context, key string, before state, updated runtime.Object, opts UpdateOptions) (Result, error) {
	value, err := o.encode(updated)
	if err != nil {
		return Result{}, err
	}
	same, err := o.unchanged(before, value, opts)
	if err != nil {
		return Result{}, err
	}
	if same {
		return Result{Object: before.object, Revision: before.revision, Unchanged: true}, nil
	}
	if opts.DryRun {
		read, err := o.decode(store.KeyValue{Key: key, Value: value, ModRevision: before.revision})
		return Result{Object: read, Revision: before.revision, Created: before.object == nil}, codingErrorOf(err)
	}
	stored, err := o.putBytes(ctx, key, value, updated, before.revision)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: stored, Revision: revisionOf(stored), Created: before.object == nil}, nil
}

// unchanged reports whether value is what is stored already: such an update is answered
// without a write. As upstream, an update that changes nothing does write an object that
// is stored in another form than it would be now (an older version, or without defaults
// that its schema has got since). What the cache has seems to be stored as it would be
// now, and the store has the last word.
func (o *Objects) unchanged(before state, value []byte, opts UpdateOptions) (bool, error) {
	if before.fresh {
		return before.object != nil && bytes.Equal(before.value, value), nil
	}
	same := before.object
	if opts.Same != nil {
		same = opts.Same(same)
	}
	seems, err := o.encode(Shallow(same))
	if err != nil {
		return false, err
	}
	return bytes.Equal(seems, value), nil
}

func (o *Objects) remove(ctx context.Context, key string, last runtime.Object, revision int64, dryRun bool) (Result, error) {
	if dryRun {
		return Result{Object: last, Revision: revision, Deleted: true}, nil
	}
	deleted, err := o.Remove(ctx, key, revision)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: WithRevision(last, deleted), Revision: deleted, Deleted: true}, nil
}

func revisionOf(obj runtime.Object) int64 {
	m, err := meta.Accessor(obj)
	if err != nil {
		return 0
	}
	revision, _ := ParseRevision(m.GetResourceVersion())
	return revision
}

// Remove deletes a key that is at the given revision, whatever its object says. It
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
