package endpointslice

import (
	"context"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
)

// boundClient gives the writes of upstream's reconciler the context of the
// reconcile that they belong to: the library itself makes them with one that never
// ends and that knows no causes. A slice names its service, and a service is
// reconciled by one worker at a time.
type boundClient struct {
	kubernetes.Interface
	slices discoverylisters.EndpointSliceLister

	mu       sync.Mutex
	contexts map[types.NamespacedName]context.Context
	// ended has the end of each reconcile that is in contexts.
	ended map[types.NamespacedName]chan struct{}
}

// during makes ctx the context of the service's writes while f runs.
func (c *boundClient) during(ctx context.Context, service types.NamespacedName, f func() error) error {
	c.mu.Lock()
	ended := make(chan struct{})
	c.contexts[service], c.ended[service] = ctx, ended
	c.mu.Unlock()
	defer close(ended)
	defer func() {
		c.mu.Lock()
		delete(c.contexts, service)
		delete(c.ended, service)
		c.mu.Unlock()
	}()
	return f()
}

// await returns when the service is not being reconciled. Only then it is known which
// of its slices are what the reconcile made of them.
func (c *boundClient) await(service types.NamespacedName) {
	c.mu.Lock()
	ended := c.ended[service]
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func (c *boundClient) contextOf(fallback context.Context, slice *discoveryv1.EndpointSlice) context.Context {
	if slice == nil {
		return fallback
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx, ok := c.contexts[serviceOf(slice)]; ok {
		return ctx
	}
	return fallback
}

// DiscoveryV1 shadows the clientset's.
func (c *boundClient) DiscoveryV1() discoveryclient.DiscoveryV1Interface {
	return boundDiscovery{c.Interface.DiscoveryV1(), c}
}

type boundDiscovery struct {
	discoveryclient.DiscoveryV1Interface
	client *boundClient
}

func (d boundDiscovery) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return boundSlices{d.DiscoveryV1Interface.EndpointSlices(namespace), d.client, namespace}
}

type boundSlices struct {
	discoveryclient.EndpointSliceInterface
	client    *boundClient
	namespace string
}

func (s boundSlices) Create(ctx context.Context, slice *discoveryv1.EndpointSlice, opts metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	return s.EndpointSliceInterface.Create(s.client.contextOf(ctx, slice), inOrder(slice), opts)
}

func (s boundSlices) Update(ctx context.Context, slice *discoveryv1.EndpointSlice, opts metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	return s.EndpointSliceInterface.Update(s.client.contextOf(ctx, slice), inOrder(slice), opts)
}

func (s boundSlices) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	// Only slices that the lister knows are ever deleted.
	slice, err := s.client.slices.EndpointSlices(s.namespace).Get(name)
	if err != nil {
		slice = nil
	}
	return s.EndpointSliceInterface.Delete(s.client.contextOf(ctx, slice), name, opts)
}
