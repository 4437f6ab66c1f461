package executor

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Delete is the method of that name of a typed client.
type Delete func(ctx context.Context, name string, opts metav1.DeleteOptions) error

// DeleteSame deletes an object unless it is gone or has another UID by now. Neither is an error: it is not the object
// that was decided about, and the event of the other one follows.
func DeleteSame(ctx context.Context, with Delete, o metav1.Object) error {
	return deleteIf(ctx, with, o, &metav1.Preconditions{UID: ptr.To(o.GetUID())})
}

// DeleteUnchanged is DeleteSame for an object whose deletion depends on its content: nor is it deleted, or an error, if
// its resourceVersion has changed.
func DeleteUnchanged(ctx context.Context, with Delete, o metav1.Object) error {
	return deleteIf(ctx, with, o, &metav1.Preconditions{UID: ptr.To(o.GetUID()), ResourceVersion: ptr.To(o.GetResourceVersion())})
}

func deleteIf(ctx context.Context, with Delete, o metav1.Object, preconditions *metav1.Preconditions) error {
	err := with(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: preconditions})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
