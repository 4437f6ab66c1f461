package apiserver

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/serviceip"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/store"
)

// reservations implements resources.Reservations.
type reservations struct{ *Server }

// reserveFor returns the row's function that reserves what a write needs and what is
// unique in the cluster; nil if there is none.
func (s *Server) reserveFor(row *resources.Resource) storage.Reserve {
	reserve := row.Strategy.Reserve
	if reserve == nil {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
		return reserve(reservations{s}, ctx, obj, old, dryRun)
	}
}

// newServiceIPs returns the allocator of the Services' addresses and node ports.
func (s *Server) newServiceIPs() *serviceip.Allocator {
	return serviceip.New(serviceip.Config{
		Services: func(ctx context.Context) ([]*corev1.Service, error) {
			return listStored[*corev1.Service](ctx, s.stored[corev1.SchemeGroupVersion.WithResource("services")])
		},
		CIDRs:     s.serviceCIDRs,
		Locks:     addressLocks{s},
		Store:     s.opts.Store,
		Decoder:   s.decoder,
		Random:    s.opts.Random,
		Clock:     s.opts.Clock,
		Ranges:    s.opts.ServiceRanges,
		NodePorts: s.opts.NodePorts,
		Logger:    s.opts.Logger,
		Report:    s.reportService,
	})
}

// ReserveService allocates the addresses and node ports of a Service.
func (s reservations) ReserveService(ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
	svc, _ := obj.(*corev1.Service)
	was, _ := old.(*corev1.Service)
	done, err := s.services.Allocate(ctx, svc, was, dryRun)
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
func (s *Server) serviceCIDRs(ctx context.Context) ([]*networkingv1.ServiceCIDR, error) {
	objects := s.stored[networkingv1.SchemeGroupVersion.WithResource("servicecidrs")]
	var cidrs []*networkingv1.ServiceCIDR
	if s.ready.Load() {
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
		if cidrs, err = listStored[*networkingv1.ServiceCIDR](ctx, objects); err != nil {
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

// listStored lists all objects from the store, because the cache may be behind.
func listStored[T runtime.Object](ctx context.Context, objects *storage.Objects) ([]T, error) {
	_, all, err := objects.ListAt(ctx, objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	typed := make([]T, 0, len(all))
	for _, obj := range all {
		if o, ok := obj.(T); ok {
			typed = append(typed, o)
		}
	}
	return typed, nil
}
