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
	class := newest(classes, func(c *storagev1.StorageClass) bool {
		return c.Annotations[defaultStorageClass] == "true" || c.Annotations[betaDefaultStorageClass] == "true"
	})
	if class != nil {
		claim.Spec.StorageClassName = &(*class).Name
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
	class := newest(classes, func(c *networkingv1.IngressClass) bool {
		return c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	})
	if class != nil {
		ingress.Spec.IngressClassName = &(*class).Name
	}
	return nil
}

// newest returns the newest of the default classes, of several with one time the first by
// name; nil if there is none.
func newest[T metav1.Object](classes []T, isDefault func(T) bool) *T {
	var found *T
	for _, class := range slices.SortedFunc(slices.Values(classes), func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) }) {
		if isDefault(class) && (found == nil || class.GetCreationTimestamp().UnixNano() > (*found).GetCreationTimestamp().UnixNano()) {
			found = &class
		}
	}
	return found
}
