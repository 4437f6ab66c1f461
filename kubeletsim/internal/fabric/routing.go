package fabric

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/routes"
)

// beginRouting starts to watch the objects of routers once there is a router, and returns when they have synced. It requires the lock
// beginning.
func (f *Fabric) beginRouting(ctx context.Context) error {
	if f.routing {
		return nil
	}
	f.mu.Lock()
	serves := f.cluster.Routes.Serves()
	f.mu.Unlock()
	if !serves {
		return nil
	}
	synced, err := f.opts.Handle(f.opts.Informers.Ingresses().Informer(),
		on(f, func(i *networkingv1.Ingress) { f.cluster.Routes.SetIngress(i) }),
		on(f, func(i *networkingv1.Ingress) {
			f.cluster.Routes.DeleteIngress(types.NamespacedName{Namespace: i.Namespace, Name: i.Name})
		}))
	if err != nil {
		return fmt.Errorf("watching Ingresses: %w", err)
	}
	secrets, err := f.opts.Handle(f.opts.Informers.Secrets().Informer(), func(any) {}, func(any) {}) // Certificate reads the lister
	if err != nil {
		return fmt.Errorf("watching Secrets: %w", err)
	}
	f.synced = append(f.synced, synced, secrets)
	f.routing = true
	f.opts.Start()
	return f.wait(ctx)
}

// Forward says what the router at the end of a path does with a request, or with a further attempt at it, counted from 0.
func (f *Fabric) Forward(ctx context.Context, path *reach.Path, r *routes.Request, attempt int) (*reach.Forwarded, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if attempt == 0 {
		f.forwarded++
	}
	q := &reach.Query{From: path.Source}
	f.complete(q)
	return f.cluster.Forward(q, path, f.forwarded, r, attempt), nil
}

// SetGateways replaces the Gateways.
func (f *Fabric) SetGateways(all map[routes.Router]*routes.Gateway) {
	f.mu.Lock()
	f.cluster.Routes.SetGateways(all)
	f.mu.Unlock()
	f.Changed()
}
