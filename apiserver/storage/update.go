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
	current, revision, fresh, err := o.start(ctx, key, name, opts)
	if err != nil {
		return Result{}, err
	}
	for {
		result, err := o.try(ctx, key, name, current, revision, change, opts)
		var conflict *store.ConflictError
		var unavailable *store.UnavailableError
		switch {
		case err == nil && (fresh || !result.Unchanged && !opts.DryRun):
			return result, nil
		case errors.As(err, &conflict):
			if conflict.Current == nil {
				if !opts.CreateIfMissing {
					return Result{}, apierrors.NewNotFound(o.row.GroupResource(), name)
				}
				current, revision, fresh = nil, 0, true
				continue
			}
			if current, err = o.decode(*conflict.Current); err != nil {
				return Result{}, codingError(err)
			}
			revision, fresh = conflict.Current.ModRevision, true
		case errors.As(err, &unavailable): // it may have been done: not twice
			return Result{}, o.translate(err, name)
		case !fresh:
			if current, revision, err = o.reread(ctx, key, name, opts); err != nil {
				return Result{}, err
			}
			fresh = true
		default:
			return Result{}, o.translate(err, name)
		}
	}
}

// start finds the object to begin with: the cache's if it has one.
func (o *Objects) start(ctx context.Context, key, name string, opts UpdateOptions) (runtime.Object, int64, bool, error) {
	entry, _, err := o.cache.Get(ctx, key, 0)
	if err == nil && entry != nil {
		return entry.Object, entry.Revision, false, nil
	}
	obj, revision, err := o.reread(ctx, key, name, opts)
	return obj, revision, true, err
}

func (o *Objects) reread(ctx context.Context, key, name string, opts UpdateOptions) (runtime.Object, int64, error) {
	obj, revision, err := o.read(ctx, key, name)
	if apierrors.IsNotFound(err) && opts.CreateIfMissing {
		return nil, 0, nil
	}
	return obj, revision, err
}

// try applies change once. A *store.ConflictError comes back as it is.
func (o *Objects) try(ctx context.Context, key, name string, current runtime.Object, revision int64, change Change, opts UpdateOptions) (Result, error) {
	updated, err := change(current)
	var result Result
	switch {
	case errors.Is(err, ErrDelete):
		err = o.reserving(ctx, nil, current, opts.DryRun, func() (err error) {
			result, err = o.remove(ctx, key, updated, revision, opts.DryRun)
			return err
		})
	case err != nil:
	case current != nil && updated == current:
		result = Result{Object: current, Revision: revision, Unchanged: true}
	default:
		err = o.reserving(ctx, updated, current, opts.DryRun, func() (err error) {
			result, err = o.replace(ctx, key, current, updated, revision, opts.DryRun)
			return err
		})
	}
	result.Old = current
	return result, err
}

// replace stores updated in place of current, unless they are the same.
func (o *Objects) replace(ctx context.Context, key string, current, updated runtime.Object, revision int64, dryRun bool) (Result, error) {
	value, err := o.encode(updated)
	if err != nil {
		return Result{}, err
	}
	if current != nil {
		same, err := o.unchanged(current, value)
		if err != nil {
			return Result{}, err
		}
		if same {
			return Result{Object: current, Revision: revision, Unchanged: true}, nil
		}
	}
	if dryRun {
		read, err := o.decode(store.KeyValue{Key: key, Value: value, ModRevision: revision})
		return Result{Object: read, Revision: revision, Created: current == nil}, codingErrorOf(err)
	}
	stored, err := o.putBytes(ctx, key, value, updated, revision)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: stored, Revision: revisionOf(stored), Created: current == nil}, nil
}

// unchanged reports whether value is what current would be stored as: such an
// update is answered without a write, as upstream does.
func (o *Objects) unchanged(current runtime.Object, value []byte) (bool, error) {
	before, err := o.encode(Shallow(current))
	if err != nil {
		return false, err
	}
	return bytes.Equal(before, value), nil
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
