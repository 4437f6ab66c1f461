package admission

import (
	"context"
	"fmt"
	"strconv"

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
	// Stored is Get from the store itself, and Key returns the key of a namespace there. They are
	// for a store that other processes use, whose latest writes Get may not know.
	Stored func(ctx context.Context, name string) (*corev1.Namespace, error)
	Key    func(name string) string
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
	if err == nil {
		err = notTerminating(a, namespace)
	}
	if err != nil || a.Require == nil {
		return err
	}
	return p.require(a, namespace)
}

// require makes a create depend on the namespace: otherwise it could be stored after another request, of
// this process or of another, has marked the namespace for deletion and the controller has found the
// namespace empty.
//
//	T1 B finds the namespace at revision 6 in its cache, without a deletion timestamp, and calls a webhook
//	T2 A stores the deletion timestamp at revision 7; the controller lists the objects: there are none
//	T3 B stores its object on condition of revision 6, and fails; the store says what is wrong
//	T4 A removes the namespace
func (p NamespaceLifecycle) require(a *Attributes, namespace *corev1.Namespace) error {
	revision, err := strconv.ParseInt(namespace.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the revision of namespace %s: %w", a.Namespace, err)
	}
	a.Require(p.Key(a.Namespace), revision, func(ctx context.Context) (int64, error) {
		stored, err := p.Stored(ctx, a.Namespace)
		if err == nil {
			err = notTerminating(a, stored)
		}
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(stored.ResourceVersion, 10, 64)
	})
	return nil
}

// notTerminating returns the error for new content in a namespace that is being deleted.
func notTerminating(a *Attributes, namespace *corev1.Namespace) error {
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
