package storage

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/store"
)

// ListAll lists all objects of a resource from the store, because the cache may be behind.
// It omits objects of another type.
func ListAll[T runtime.Object](ctx context.Context, objects *Objects) ([]T, error) {
	_, all, err := objects.ListAt(ctx, objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	typed := make([]T, 0, len(all))
	for _, obj := range all {
		if o, ok := obj.(T); ok {
			typed = append(typed, o)
		}
	}
	return typed, nil
}
