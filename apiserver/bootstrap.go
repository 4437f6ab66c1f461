package apiserver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// bootstrap creates the objects that every cluster has.
func (s *Server) bootstrap(ctx context.Context) error {
	for _, obj := range resources.Bootstrap() {
		if err := s.ensure(ctx, obj); err != nil {
			return fmt.Errorf("creating the cluster's own objects: %w", err)
		}
	}
	for _, obj := range s.opts.DefaultObjects {
		if err := s.ensureAny(ctx, obj); err != nil {
			return fmt.Errorf("creating the cluster's default objects: %w", err)
		}
	}
	if err := s.bootstrapRoles(ctx); err != nil {
		return err
	}
	if err := s.services.Bootstrap(ctx); err != nil {
		return fmt.Errorf("creating the cluster's own objects: %w", err)
	}
	return nil
}

// ensure creates an object of the cluster itself unless it exists.
func (s *Server) ensure(ctx context.Context, obj runtime.Object) error {
	err := s.createOwn(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err):
		// An existing object may itself hold what the new one needs (the kubernetes
		// Service its address).
		if _, missing := s.ownObject(ctx, obj); missing == nil {
			return nil
		}
	}
	return err
}

// ensureAny creates an object unless there is one of its kind.
func (s *Server) ensureAny(ctx context.Context, obj runtime.Object) error {
	row, err := s.rowFor(obj)
	if err != nil {
		return err
	}
	if empty, err := s.objects(row).Empty(ctx); err != nil || !empty {
		return err
	}
	return s.ensure(ctx, obj)
}

// createOwn creates an object of the cluster itself.
func (s *Server) createOwn(ctx context.Context, obj runtime.Object) error {
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
	_, err = objects.Create(ctx, objects.Key(m.GetNamespace(), m.GetName()), obj, false)
	return err
}

// ownObject returns the stored object with the kind and name of obj.
func (s *Server) ownObject(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	row, err := s.rowFor(obj)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	objects := s.objects(row)
	return objects.Get(ctx, objects.Key(m.GetNamespace(), m.GetName()), m.GetName())
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
