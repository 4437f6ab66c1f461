package storage

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/store"
)

// ListAll lists all objects of a resource from the store, because the cache may be behind.
// It omits objects of another type.
func ListAll[T runtime.Object](ctx context.Context, objects *Objects) ([]T, error) {
	_, all, err := objects.ListAt(ctx, objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	return ofType[T](all), nil
}

// ListIn is ListAll for one namespace. Its errors are API errors.
func ListIn[T runtime.Object](ctx context.Context, objects *Objects, namespace string) ([]T, error) {
	_, stored, err := objects.ListAt(ctx, objects.Prefix(namespace), store.ListOptions{})
	if err != nil {
		return nil, Translate(err, schema.GroupResource{}, "")
	}
	return ofType[T](stored), nil
}

// KnownIn returns a namespace's objects of a resource, including all writes of this process.
func KnownIn[T runtime.Object](ctx context.Context, objects *Objects, namespace string) ([]T, error) {
	known, err := objects.KnownIn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return ofType[T](known), nil
}

// Lookup returns an object from the cache, or from the store if the cache does not have it (yet).
func Lookup[T runtime.Object](ctx context.Context, objects *Objects, namespace, name string) (T, error) {
	if known, err := objects.Known(ctx, objects.Key(namespace, name)); err == nil {
		if obj, ok := known.(T); ok {
			return obj, nil
		}
	}
	return Get[T](ctx, objects, namespace, name)
}

// Get returns an object from the store, or a NotFound error.
func Get[T runtime.Object](ctx context.Context, objects *Objects, namespace, name string) (T, error) {
	var none T
	obj, err := objects.Get(ctx, objects.Key(namespace, name), name)
	if err != nil {
		return none, err
	}
	typed, ok := obj.(T)
	if !ok {
		return none, apierrors.NewNotFound(objects.row.GroupResource(), name)
	}
	return typed, nil
}

// ofType returns the objects of one type.
func ofType[T runtime.Object](objects []runtime.Object) []T {
	found := make([]T, 0, len(objects))
	for _, obj := range objects {
		if typed, ok := obj.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}
