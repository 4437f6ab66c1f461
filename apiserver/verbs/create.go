package verbs

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
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
	strategy.Default(rq.Row, obj)
	generated := m.GetName() == "" && m.GetGenerateName() != ""
	if generated {
		rq.backend.Preparer.GenerateName(rq.Row, m)
	}
	rq.Name = m.GetName()
	// As upstream: fields that admission and preparation set have no owner.
	if obj, err = rq.backend.Fields.TrackCreate(rq.fieldWrite(manager), obj); err != nil {
		return nil, err
	}
	if err := rq.admitCreate(ctx, obj, dryRun); err != nil {
		return nil, err
	}
	if rq.Name == "" { // preparation has generated the name
		if m, err = meta.Accessor(obj); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		rq.Name = m.GetName()
	}
	for try := 1; ; try++ {
		stored, err := rq.store(ctx, obj, dryRun)
		if err == nil {
			return rq.FromStored(stored), nil
		}
		if !generated || !apierrors.IsAlreadyExists(err) || try == strategy.NameTries {
			return nil, err
		}
		if m, err = meta.Accessor(obj); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		rq.backend.Preparer.GenerateName(rq.Row, m)
		rq.Name = m.GetName()
	}
}

func (rq *Call) store(ctx context.Context, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	stored, err := rq.Objects.Create(ctx, rq.Key(), rq.ToStored(obj), dryRun)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		rq.RecordWrite(storage.Result{Object: stored, Created: true})
	}
	return stored, nil
}
