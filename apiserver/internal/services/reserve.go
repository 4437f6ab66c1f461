package services

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/store"
)

// Reserve implements storage.Reserve for the addresses and node ports of a Service.
func (s *Services) Reserve(ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
	svc, _ := obj.(*corev1.Service)
	was, _ := old.(*corev1.Service)
	done, err := s.allocator.Allocate(ctx, svc, was, dryRun)
	if err != nil {
		return nil, err
	}
	return func(outcome error) { done(outcomeOf(outcome)) }, nil
}

// outcomeOf classifies a write's error. A store that did not respond may have made the write.
func outcomeOf(err error) serviceip.Outcome {
	var conflict *store.ConflictError
	var refused *storage.NotStoredError
	switch {
	case err == nil:
		return serviceip.Stored
	case errors.Is(err, storage.ErrDryRun), errors.As(err, &conflict), errors.As(err, &refused),
		apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return serviceip.NotStored
	}
	return serviceip.Unknown
}

// serviceCIDRs returns the ServiceCIDRs, the default one first. While the server starts it reads them
// from the store, so that no watch cache is needed.
func (s *Services) serviceCIDRs(ctx context.Context) ([]*networkingv1.ServiceCIDR, error) {
	objects := s.opts.Objects(networkingv1.SchemeGroupVersion.WithResource("servicecidrs"))
	var cidrs []*networkingv1.ServiceCIDR
	if s.opts.Started() {
		known, err := objects.KnownIn(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, obj := range known {
			if cidr, ok := obj.(*networkingv1.ServiceCIDR); ok {
				cidrs = append(cidrs, cidr)
			}
		}
	} else {
		var err error
		if cidrs, err = storage.ListAll[*networkingv1.ServiceCIDR](ctx, objects); err != nil {
			return nil, err
		}
	}
	for i, cidr := range cidrs {
		if cidr.Name == defaultServiceCIDR {
			cidrs[0], cidrs[i] = cidrs[i], cidrs[0]
		}
	}
	return cidrs, nil
}
