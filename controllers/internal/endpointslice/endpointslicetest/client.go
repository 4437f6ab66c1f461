package endpointslicetest

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"minikcm.dev/minikcm/controllers/internal/executor"
)

// Client returns a client that creates, updates and deletes EndpointSlices with w. It can do
// nothing else.
func Client(w executor.Writer) kubernetes.Interface { return client{w: w} }

type client struct {
	kubernetes.Interface
	w executor.Writer
}

// DiscoveryV1 implements kubernetes.Interface.
func (c client) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return discovery{w: c.w} }

type discovery struct {
	discoveryclient.DiscoveryV1Interface
	w executor.Writer
}

func (d discovery) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return slices{w: d.w, namespace: namespace}
}

type slices struct {
	discoveryclient.EndpointSliceInterface
	w         executor.Writer
	namespace string
}

func (s slices) Create(ctx context.Context, slice *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	made := slice.DeepCopy()
	made.Namespace = s.namespace
	o, err := s.w.Create(ctx, made)
	if err != nil {
		return nil, err
	}
	return o.(*discoveryv1.EndpointSlice), nil
}

func (s slices) Update(ctx context.Context, slice *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	if slice.ResourceVersion == "" { // an unconditional update
		current, err := s.w.Get(ctx, slice)
		if err != nil {
			return nil, err
		}
		slice = slice.DeepCopy()
		slice.Namespace, slice.UID, slice.ResourceVersion = s.namespace, current.GetUID(), current.GetResourceVersion()
	}
	o, err := s.w.Update(ctx, slice, "")
	if err != nil {
		return nil, err
	}
	return o.(*discoveryv1.EndpointSlice), nil
}

func (s slices) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	o, err := s.w.Get(ctx, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}})
	if err != nil {
		return err
	}
	return s.w.Delete(ctx, o)
}
