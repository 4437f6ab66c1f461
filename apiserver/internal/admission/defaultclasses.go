package admission

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of default StorageClasses.
const (
	defaultStorageClass     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultStorageClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// betaIngressClass is the annotation that names the class of an Ingress.
const betaIngressClass = "kubernetes.io/ingress.class"

// DefaultStorageClass gives new PersistentVolumeClaims without a class the default one
// (Kubernetes documentation, "Storage Classes: Default StorageClass").
type DefaultStorageClass struct {
	// List returns all classes.
	List func(ctx context.Context) ([]*storagev1.StorageClass, error)
}

// Mutate implements Mutator.
func (p DefaultStorageClass) Mutate(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Operation != Create || a.Subresource != "" || claim.Spec.StorageClassName != nil {
		return nil
	}
	if _, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named {
		return nil
	}
	classes, err := p.List(ctx)
	if err != nil {
		return denied(a, err)
	}
	name := newest(classes, func(c *storagev1.StorageClass) bool {
		return c.Annotations[defaultStorageClass] == "true" || c.Annotations[betaDefaultStorageClass] == "true"
	})
	if name != "" {
		claim.Spec.StorageClassName = &name
	}
	return nil
}

// DefaultIngressClass gives new Ingresses without a class the default one (Kubernetes
// documentation, "Ingress: Default IngressClass").
type DefaultIngressClass struct {
	// List returns all classes.
	List func(ctx context.Context) ([]*networkingv1.IngressClass, error)
}

// Mutate implements Mutator.
func (p DefaultIngressClass) Mutate(ctx context.Context, a *Attributes) error {
	ingress, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Operation != Create || a.Subresource != "" || ingress.Spec.IngressClassName != nil {
		return nil
	}
	if _, named := ingress.Annotations[betaIngressClass]; named {
		return nil
	}
	classes, err := p.List(ctx)
	if err != nil {
		return denied(a, err)
	}
	name := newest(classes, func(c *networkingv1.IngressClass) bool {
		return c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	})
	if name != "" {
		ingress.Spec.IngressClassName = &name
	}
	return nil
}

// newest returns the name of the newest default class, of several with one time the first
// name; empty if there is none.
func newest[T metav1.Object](classes []T, isDefault func(T) bool) string {
	defaults := slices.DeleteFunc(slices.Clone(classes), func(c T) bool { return !isDefault(c) })
	if len(defaults) == 0 {
		return ""
	}
	return slices.MinFunc(defaults, func(a, b T) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	}).GetName()
}
