package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/internal/hostaddress"
)

// ServiceHosts allows a user to lead a Service out of the cluster (the annotation
// minikcm.dev/host) only with the permission to use each of the addresses. The permission is
// cluster-wide, so that no Role of a namespace grants it.
type ServiceHosts struct{ Authorizer auth.Authorizer }

// Check implements Checker. It includes subresources, because an update of the status can change
// annotations.
func (p ServiceHosts) Check(ctx context.Context, a *Attributes) error {
	service, ok := a.Object.(*corev1.Service)
	if !ok || a.Operation != Create && a.Operation != Update {
		return nil
	}
	value, set := service.Annotations[hostaddress.Annotation]
	if old, ok := a.Old.(*corev1.Service); ok && set {
		if before, had := old.Annotations[hostaddress.Annotation]; had && before == value {
			return nil
		}
	}
	if !set {
		return nil
	}
	addresses, err := hostaddress.Parse(value)
	if err != nil {
		at := field.NewPath("metadata", "annotations").Key(hostaddress.Annotation)
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), a.Name, field.ErrorList{field.Invalid(at, value, err.Error())})
	}
	for _, address := range addresses.All() {
		decision, _, err := p.Authorizer.Authorize(ctx, auth.Attributes{
			User: a.User, Verb: "use", Resource: true, Group: "minikcm.dev", Version: "*", Plural: "hosts", Name: address,
		})
		if err != nil && decision != auth.Allow {
			return denied(a, err)
		}
		if decision != auth.Allow {
			return denied(a, fmt.Errorf("user %q may not lead a Service to %s: that needs a ClusterRole with the verb \"use\" for the resource \"hosts\" of the group \"minikcm.dev\"", a.User.Name, address))
		}
	}
	for _, name := range addresses.Unknown(service.Spec.Ports) {
		if a.Warn != nil {
			a.Warn(fmt.Sprintf("metadata.annotations[%s]: the Service has no port %q", hostaddress.Annotation, name))
		}
	}
	return nil
}
