package apiserver

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/crd"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/serviceip"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/store"
)

// reserveFor is how writes of a resource get what the cluster has only once: the
// addresses and node ports of Services, the names of custom kinds. It is nil for all other resources.
func (s *Server) reserveFor(row *resources.Resource) storage.Reserve {
	if row.GVR() == crd.Resource {
		return func(ctx context.Context, obj, old runtime.Object) (func(error), error) {
			return s.definitions.reserve(ctx, obj, old)
		}
	}
	services := corev1.SchemeGroupVersion.WithResource("services")
	if row.GVR() != services {
		return nil
	}
	allocator := serviceip.New(serviceip.Config{
		Random: s.opts.Random,
		List:   func(ctx context.Context) ([]*corev1.Service, error) { return listServices(ctx, s.stored[services]) },
	})
	return func(ctx context.Context, obj, old runtime.Object) (func(error), error) {
		svc, _ := obj.(*corev1.Service)
		was, _ := old.(*corev1.Service)
		done, err := allocator.Allocate(ctx, svc, was)
		if err != nil {
			return nil, err
		}
		return func(outcome error) {
			if !certain(outcome) {
				allocator.Forget()
			}
			done(outcome == nil)
		}, nil
	}
}

// listServices reads all Services from the store itself: the cache may be behind.
func listServices(ctx context.Context, objects *storage.Objects) ([]*corev1.Service, error) {
	_, all, err := objects.ListAt(ctx, objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return nil, err
	}
	services := make([]*corev1.Service, 0, len(all))
	for _, obj := range all {
		if svc, ok := obj.(*corev1.Service); ok {
			services = append(services, svc)
		}
	}
	return services, nil
}

// certain reports whether a write's outcome says for sure if something was stored.
// A store that did not answer may have stored it all the same.
func certain(outcome error) bool {
	var conflict *store.ConflictError
	return outcome == nil || errors.Is(outcome, storage.ErrDryRun) || errors.As(outcome, &conflict) ||
		apierrors.IsConflict(outcome) || apierrors.IsAlreadyExists(outcome) || apierrors.IsNotFound(outcome)
}
