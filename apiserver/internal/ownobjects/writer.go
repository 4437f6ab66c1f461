package ownobjects

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// Writer writes objects of the cluster itself to the store, without a request. All fields are
// required.
type Writer struct {
	Scheme *runtime.Scheme
	// Table has the built-in rows, and Objects returns the storage of one.
	Table    *resources.Table
	Objects  func(row *resources.Resource) *storage.Objects
	Preparer *strategy.Preparer
	Fields   *fieldmanager.Managers
}

// Ensure creates an object of the cluster itself unless it exists.
func (w *Writer) Ensure(ctx context.Context, obj runtime.Object) error {
	err := w.Create(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err):
		// An existing object may itself hold what the new one needs (the kubernetes
		// Service its address).
		if _, missing := w.get(ctx, obj); missing == nil {
			return nil
		}
	}
	return err
}

// EnsureAny creates an object unless there is one of its kind.
func (w *Writer) EnsureAny(ctx context.Context, obj runtime.Object) error {
	row, err := w.rowFor(obj)
	if err != nil {
		return err
	}
	if empty, err := w.Objects(row).Empty(ctx); err != nil || !empty {
		return err
	}
	return w.Ensure(ctx, obj)
}

// Create creates an object of the cluster itself.
func (w *Writer) Create(ctx context.Context, obj runtime.Object) error {
	row, err := w.rowFor(obj)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	strategy.Default(row, obj)
	if err := w.Preparer.Create(row, obj); err != nil {
		return err
	}
	w.Fields.TrackOwn(row, m, w.Preparer.Now())
	objects := w.Objects(row)
	_, err = objects.Create(ctx, objects.Key(m.GetNamespace(), m.GetName()), obj, false)
	return err
}

// get returns the stored object with the kind and name of obj.
func (w *Writer) get(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	row, err := w.rowFor(obj)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	objects := w.Objects(row)
	return objects.Get(ctx, objects.Key(m.GetNamespace(), m.GetName()), m.GetName())
}

func (w *Writer) rowFor(obj runtime.Object) (*resources.Resource, error) {
	kinds, _, err := w.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if row := w.Table.ByKind(kind); row != nil {
			strategy.ClearTypeMeta(obj)
			return row, nil
		}
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("no row is of kind %v", kinds))
}
