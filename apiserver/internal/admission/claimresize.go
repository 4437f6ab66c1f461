package admission

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

const errNotBound = UpstreamText("Only bound persistent volume claims can be expanded")

// ClaimResize rejects a larger request of a PersistentVolumeClaim that is not bound, or whose
// class does not allow expansion, as upstream's PersistentVolumeClaimResize (KEP-284).
type ClaimResize struct {
	// Get returns a class or a NotFound error.
	Get func(ctx context.Context, name string) (*storagev1.StorageClass, error)
}

// Check implements Checker.
func (p ClaimResize) Check(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Operation != Update || a.Subresource != "" {
		return nil
	}
	old, ok := a.Old.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	wanted, had := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if wanted.Cmp(had) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return denied(a, errNotBound)
	}
	if !p.allows(ctx, className(claim), className(old)) {
		return denied(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
	}
	return nil
}

func (p ClaimResize) allows(ctx context.Context, name, old string) bool {
	if name == "" || name != old {
		return false
	}
	class, err := p.Get(ctx, name)
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion
}

// className returns the class that a claim names in its annotation or its spec.
func className(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
