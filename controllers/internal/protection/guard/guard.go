package guard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/protection"
)

// Object is a pointer to an API object.
type Object[T any] interface {
	metav1.Object
	DeepCopy() T
}

// Kind is a kind whose objects have a finalizer until they are deleted and not used. All
// fields are required.
type Kind[T Object[T]] struct {
	// Noun names the kind in errors, such as "volume".
	Noun      string
	Finalizer string
	// Get returns an object of the cache, or a NotFound error.
	Get func(key types.NamespacedName) (T, error)
	// Used reports whether an object with the finalizer that is being deleted is used.
	Used func(ctx context.Context, object T) (bool, error)
	// Update writes an object.
	Update func(ctx context.Context, object T) (T, error)
}

// Reconcile adds the finalizer to an object, or removes it from one that is being deleted and
// not used. It returns the object as it is then; ok is false if the object is gone or about to
// go.
func (k *Kind[T]) Reconcile(ctx context.Context, key types.NamespacedName) (now T, ok bool, err error) {
	object, err := k.Get(key)
	if apierrors.IsNotFound(err) {
		return object, false, nil
	}
	if err != nil {
		return object, false, fmt.Errorf("getting %s %s: %w", k.Noun, nameOf(key), err)
	}
	used := false
	if object.GetDeletionTimestamp() != nil && protection.Has(object, k.Finalizer) {
		if used, err = k.Used(ctx, object); err != nil {
			return object, false, fmt.Errorf("looking for users of %s %s: %w", k.Noun, nameOf(key), err)
		}
	}
	finalizers, change := protection.Finalizers(object, k.Finalizer, func() bool { return used })
	if !change {
		return object, true, nil
	}
	changed := object.DeepCopy()
	changed.SetFinalizers(finalizers)
	now, err = k.Update(ctx, changed)
	if apierrors.IsNotFound(err) {
		return now, false, nil
	}
	if err != nil {
		return now, false, fmt.Errorf("updating %s %s: %w", k.Noun, nameOf(key), err)
	}
	return now, object.GetDeletionTimestamp() == nil, nil
}

// nameOf returns a key without the slash of an object without a namespace.
func nameOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}
