package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/hostaddress"
)

// ServiceHosts allows a user to lead a Service, or the probes of a Pod, out of the cluster (the
// annotation minikcm.dev/host) only with the permission to use each of the addresses. The
// permission is cluster-wide, so that no Role of a namespace grants it.
type ServiceHosts struct{ Authorizer auth.Authorizer }

// Check implements Checker. It includes subresources, because an update of the status can change
// annotations.
func (p ServiceHosts) Check(ctx context.Context, a *Attributes) error {
	if a.Operation != Create && a.Operation != Update {
		return nil
	}
	value, kind, set := ledOut(a.Object)
	if !set {
		return nil
	}
	if before, _, had := ledOut(a.Old); had && before == value {
		return nil
	}
	addresses, err := hostaddress.Parse(value)
	if err != nil {
		at := field.NewPath("metadata", "annotations").Key(hostaddress.Annotation)
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind(kind).GroupKind(), a.Name, field.ErrorList{field.Invalid(at, value, err.Error())})
	}
	for _, address := range addresses.All() {
		decision, _, err := p.Authorizer.Authorize(ctx, auth.Attributes{
			User: a.User, Verb: "use", Resource: true, Group: "minikcm.dev", Version: "*", Plural: "hosts", Name: address,
		})
		if err != nil && decision != auth.Allow {
			return denied(a, err)
		}
		if decision != auth.Allow {
			return denied(a, fmt.Errorf("user %q may not lead a %s to %s: that needs a ClusterRole with the verb \"use\" for the resource \"hosts\" of the group \"minikcm.dev\"", a.User.Name, kind, address))
		}
	}
	for _, name := range unknownPorts(a.Object, addresses) {
		if a.Warn != nil {
			a.Warn(fmt.Sprintf("metadata.annotations[%s]: the %s has no port %q", hostaddress.Annotation, kind, name))
		}
	}
	return nil
}

// ledOut returns the annotation of an object of a kind that it leads out of the cluster.
func ledOut(obj runtime.Object) (value, kind string, set bool) {
	switch o := obj.(type) {
	case *corev1.Service:
		value, set = o.Annotations[hostaddress.Annotation]
		return value, "Service", set
	case *corev1.Pod:
		value, set = o.Annotations[hostaddress.Annotation]
		return value, "Pod", set
	}
	return "", "", false
}

func unknownPorts(obj runtime.Object, addresses hostaddress.Addresses) []string {
	switch o := obj.(type) {
	case *corev1.Service:
		return addresses.Unknown(o.Spec.Ports)
	case *corev1.Pod:
		return addresses.UnknownToPod(&o.Spec)
	}
	return nil
}
