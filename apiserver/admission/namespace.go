package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// NamespaceLifecycle rejects objects in namespaces that do not exist or are
// terminating, and the deletion of the namespaces that every cluster has.
type NamespaceLifecycle struct {
	// Get returns a namespace, as new as the store's, or a NotFound error.
	Get func(ctx context.Context, name string) (*corev1.Namespace, error)
}

var undeletable = sets.New(metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic)

// Check implements Checker.
func (p NamespaceLifecycle) Check(ctx context.Context, a *Attributes) error {
	if a.Operation == Delete && a.Resource.GVR() == corev1.SchemeGroupVersion.WithResource("namespaces") && undeletable.Has(a.Name) {
		return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("this namespace may not be deleted"))
	}
	if a.Operation != Create || !a.Resource.Namespaced || a.Namespace == "" || !a.Resource.IsStored() {
		return nil
	}
	namespace, err := p.Get(ctx, a.Namespace)
	if err != nil {
		return err
	}
	if namespace.DeletionTimestamp == nil {
		return nil
	}
	denied := apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	denied.ErrStatus.Details.Causes = append(denied.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	})
	return denied
}
