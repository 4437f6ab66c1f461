package endpointslice

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/difference"
	"minikcm.dev/minikcm/internal/loop"
)

// boundClient runs the writes of upstream's reconciler with the context of the reconcile
// that they belong to: the library itself uses a context that never ends and carries no
// causes. A slice names its service, and one worker at a time reconciles a service.
type boundClient struct {
	kubernetes.Interface
	slices discoverylisters.EndpointSliceLister

	// expectations and records get the writes.
	expectations *dependents.Expectations
	records      *difference.Records

	mu sync.Mutex
	// contexts holds the context of each running reconcile, uids the UID of its service, and
	// late the events of its slices that have arrived since it began.
	contexts map[types.NamespacedName]context.Context
	uids     map[types.NamespacedName]types.UID
	late     map[types.NamespacedName][]loop.Event
}

// during makes ctx the context of the service's writes while f runs. It returns the events
// that postpone has kept.
func (c *boundClient) during(ctx context.Context, service *corev1.Service, f func() error) (late []loop.Event, err error) {
	key := loop.KeyOf(service)
	c.mu.Lock()
	c.contexts[key], c.uids[key] = ctx, service.UID
	c.mu.Unlock()
	c.expectations.Begin(service.UID)
	defer func() { // also if f panics, which the loop survives
		c.expectations.End(service.UID)
		c.mu.Lock()
		defer c.mu.Unlock()
		late = c.late[key]
		delete(c.contexts, key)
		delete(c.uids, key)
		delete(c.late, key)
	}()
	return nil, f()
}

// postpone keeps the event of a slice while its service is being reconciled. The tracker
// knows only after the reconcile which versions of the slices are the controller's own
// writes:
//
//	reconcile  updates slice s: version 8
//	informer   event of s at version 8: postpone keeps it
//	reconcile  the response arrives: the tracker records version 8
//	reconcile  handles the kept event: version 8 is its own, nothing to do
//
// Without postpone, the event would look like a change by another client and cause another
// reconcile.
func (c *boundClient) postpone(service types.NamespacedName, ev loop.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, runs := c.contexts[service]
	if runs {
		c.late[service] = append(c.late[service], ev)
	}
	return runs
}

// runOf returns the context of the slice's writes, and the UID of its service, which is empty
// if the service is not being reconciled.
func (c *boundClient) runOf(fallback context.Context, slice *discoveryv1.EndpointSlice) (context.Context, types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	service := serviceOf(slice)
	if ctx, runs := c.contexts[service]; runs {
		return ctx, c.uids[service]
	}
	return fallback, ""
}

// wrote records a write whose response is slice.
func (c *boundClient) wrote(service types.UID, slice *discoveryv1.EndpointSlice, err error) {
	if err == nil {
		c.expectations.Written(service, slice)
		c.records.Written(serviceOf(slice), slice)
	}
}

// DiscoveryV1 shadows the clientset's method.
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
	ctx, service := s.client.runOf(ctx, slice)
	made, err := s.EndpointSliceInterface.Create(ctx, inOrder(slice), opts)
	s.client.wrote(service, made, err)
	return made, err
}

func (s boundSlices) Update(ctx context.Context, slice *discoveryv1.EndpointSlice, opts metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	ctx, service := s.client.runOf(ctx, slice)
	updated, err := s.EndpointSliceInterface.Update(ctx, inOrder(slice), opts)
	s.client.wrote(service, updated, err)
	return updated, err
}

func (s boundSlices) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	// The reconciler deletes only slices that are in the cache.
	slice, err := s.client.slices.EndpointSlices(s.namespace).Get(name)
	if err != nil {
		return s.EndpointSliceInterface.Delete(ctx, name, opts)
	}
	ctx, service := s.client.runOf(ctx, slice)
	s.client.expectations.Deleting(service, slice)
	if err := s.EndpointSliceInterface.Delete(ctx, name, opts); err != nil {
		s.client.expectations.Kept(service, slice)
		return err
	}
	s.client.records.Removed(serviceOf(slice), name)
	return nil
}
