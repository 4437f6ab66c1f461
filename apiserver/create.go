package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// serveCreate serves POST on a collection.
func serveCreate(ctx context.Context, rq *call) error {
	opts, err := rq.CreateOptions()
	if err != nil {
		return err
	}
	data, err := rq.Body()
	if err != nil {
		return err
	}
	obj, err := rq.Decode(data, rq.Row.GroupVersionKind, rq.Row.New(), opts.FieldValidation)
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
func (rq *call) createNew(ctx context.Context, obj runtime.Object, manager string, dryRun bool) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	rq.DedupOwners(m)
	strategy.Default(rq.Row, obj)
	generated := m.GetName() == "" && m.GetGenerateName() != ""
	if generated {
		rq.server.preparer.GenerateName(rq.Row, m)
	}
	rq.Name = m.GetName()
	// As upstream: fields that admission and preparation set have no owner.
	if obj, err = rq.server.fields.TrackCreate(rq.fieldWrite(manager), obj); err != nil {
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
		rq.server.preparer.GenerateName(rq.Row, m)
		rq.Name = m.GetName()
	}
}

func (rq *call) store(ctx context.Context, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	stored, err := rq.Objects.Create(ctx, rq.Key(), rq.ToStored(obj), dryRun)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		rq.recordWrite(storage.Result{Object: stored, Created: true})
	}
	return stored, nil
}

// ensure creates an object of the cluster itself unless it exists.
func (s *Server) ensure(ctx context.Context, obj runtime.Object) error {
	row, err := s.rowFor(obj)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	strategy.Default(row, obj)
	if err := s.preparer.Create(row, obj); err != nil {
		return err
	}
	s.fields.TrackOwn(row, m, s.preparer.Now())
	objects := s.objects(row)
	key := objects.Key(m.GetNamespace(), m.GetName())
	_, err = objects.Create(ctx, key, obj, false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err):
		// An existing object may itself hold what the new one needs (the kubernetes
		// Service its address).
		if _, missing := objects.Get(ctx, key, m.GetName()); missing == nil {
			return nil
		}
	}
	return err
}

func (s *Server) rowFor(obj runtime.Object) (*resources.Resource, error) {
	kinds, _, err := s.scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if row := s.table.ByKind(kind); row != nil {
			strategy.ClearTypeMeta(obj)
			return row, nil
		}
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("no row is of kind %v", kinds))
}
