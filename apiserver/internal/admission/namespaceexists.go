package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// NamespaceExists rejects writes in namespaces that do not exist.
type NamespaceExists struct {
	// Get returns a namespace, as new as the store's, or a NotFound error.
	Get func(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Check implements Checker.
func (p NamespaceExists) Check(ctx context.Context, a *Attributes) error {
	if a.Operation == Connect || !isNamespaced(a) {
		return nil
	}
	_, err := p.Get(ctx, a.Namespace)
	return err
}

// NamespaceAutoProvision creates the namespace of a new object if it does not exist.
type NamespaceAutoProvision struct {
	// Get returns a namespace, as new as the store's, or a NotFound error.
	Get func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Create creates a namespace. It returns nil if the namespace exists.
	Create func(ctx context.Context, name string) error
}

// Mutate implements Mutator.
func (p NamespaceAutoProvision) Mutate(ctx context.Context, a *Attributes) error {
	if a.Operation != Create || a.DryRun || !isNamespaced(a) {
		return nil
	}
	_, err := p.Get(ctx, a.Namespace)
	if apierrors.IsNotFound(err) {
		err = p.Create(ctx, a.Namespace)
	}
	if err != nil {
		return denied(a, err)
	}
	return nil
}

// isNamespaced reports whether a write is for an object in a namespace.
func isNamespaced(a *Attributes) bool {
	return a.Resource.Namespaced && a.Namespace != ""
}
