package verbs

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// serveCreate serves POST on a collection.
func serveCreate(ctx context.Context, rq *Call) error {
	opts, obj, err := rq.readCreate()
	if err != nil {
		return err
	}
	if err := rq.CheckNamespace(obj); err != nil {
		return err
	}
	stored, err := rq.createNew(ctx, obj, rq.FieldOwner(opts.FieldManager), request.IsDryRun(opts.DryRun))
	if err != nil {
		return err
	}
	return rq.WriteResult(created(true), stored)
}

// createNew stores a decoded object as a new one. If a generated name is taken, it
// tries another.
func (rq *Call) createNew(ctx context.Context, obj runtime.Object, manager string, dryRun bool) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	rq.DedupOwners(m)
	m.SetDeletionTimestamp(nil) // before it gets an owner
	m.SetDeletionGracePeriodSeconds(nil)
	strategy.Default(rq.Row, obj)
	rq.Name = m.GetName()
	// As upstream: fields that admission and preparation set have no owner.
	if obj, err = rq.backend.Fields.TrackCreate(rq.fieldWrite(manager), obj); err != nil {
		return nil, err
	}
	if err := rq.mutateCreate(ctx, obj, dryRun); err != nil {
		return nil, err
	}
	if m, err = meta.Accessor(obj); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if m.GetName() != "" || m.GetGenerateName() == "" {
		return rq.prepareAndStore(ctx, obj, dryRun)
	}
	for try := 1; ; try++ {
		// Preparation derives values from the name, and the next attempt has another one.
		stored, err := rq.prepareAndStore(ctx, rq.withName(obj.DeepCopyObject()), dryRun)
		if err == nil || !apierrors.IsAlreadyExists(err) || try == strategy.NameTries {
			return stored, err
		}
	}
}

// withName returns obj with a generated name.
func (rq *Call) withName(obj runtime.Object) runtime.Object {
	if m, err := meta.Accessor(obj); err == nil {
		rq.backend.Preparer.GenerateName(rq.Row, m)
	}
	return obj
}

// prepareAndStore stores an object that has its name, unless preparation gives it one.
func (rq *Call) prepareAndStore(ctx context.Context, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	rq.Name = request.NameOf(obj)
	if err := rq.checkCreate(ctx, obj, dryRun); err != nil {
		return nil, err
	}
	rq.Name = request.NameOf(obj)
	stored, err := rq.Objects.Create(ctx, rq.Key(), rq.ToStored(obj), dryRun)
	if apierrors.IsAlreadyExists(err) {
		err = rq.stillExists(ctx)
	}
	if err != nil {
		return nil, err
	}
	if !dryRun {
		rq.RecordWrite(storage.Result{Object: stored, Created: true})
	}
	return rq.FromStored(stored), nil
}

// stillExists returns the error for the create of an object that exists; it says so if that is being deleted.
func (rq *Call) stillExists(ctx context.Context) error {
	err := apierrors.NewAlreadyExists(rq.GroupResource(), rq.Name)
	if existing, readErr := rq.Objects.Get(ctx, rq.Key(), rq.Name); readErr == nil {
		if m, metaErr := meta.Accessor(existing); metaErr == nil && m.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
	}
	return err
}
