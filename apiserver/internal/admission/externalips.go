package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const errExternalIPs = UpstreamText("Use of external IPs is denied by admission control")

// DenyServiceExternalIPs rejects Services with external IPs that they did not have.
type DenyServiceExternalIPs struct{}

// Check implements Checker.
func (DenyServiceExternalIPs) Check(_ context.Context, a *Attributes) error {
	service, ok := a.Object.(*corev1.Service)
	if !ok || a.Subresource != "" {
		return nil
	}
	var had []string
	if old, ok := a.Old.(*corev1.Service); ok {
		had = old.Spec.ExternalIPs
	}
	if sets.New(had...).HasAll(service.Spec.ExternalIPs...) {
		return nil
	}
	return denied(a, errExternalIPs)
}
