package endpointslice

import (
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "endpointslice-controller"

// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by on
// the controller's slices, and the source of its events.
const (
	ManagedBy   = "endpointslice-controller.k8s.io"
	eventSource = "endpoint-slice-controller"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"endpointslice"}, Account: "endpointslice-controller",
		About:   "writes the EndpointSlices of Services",
		Watches: []string{"services", "pods", "nodes", "endpointslices"}, Writes: []string{"endpointslices"},
		Docs: "concepts/services-networking/endpoint-slices/",
		Concurrency: controller.Concurrency{Flag: "concurrent-service-endpoint-syncs", What: "Services' slices", In: func(s *controller.Settings) *int32 {
			return &s.EndpointSliceController.ConcurrentServiceEndpointSyncs
		}},
		Build: build,
	}
}

// Controller writes endpoint slices. Its keys are services.
type Controller struct {
	*Reconciler
	batch selection.Batch
	loop  loop.Loop
}

func build(p *controller.Parts) error {
	slices := p.Informers.EndpointSlices().Informer()
	c := &Controller{}
	var err error
	c.Reconciler, err = NewReconciler(Sources{
		Clock: p.Clock, Logger: p.Logger, Client: p.Client, Recorder: p.Recorder.For(eventSource),
		Services: p.Informers.Services().Informer().GetIndexer(), Pods: p.Informers.Pods().Informer().GetIndexer(),
		Nodes: p.Informers.Nodes().Informer().GetIndexer(), Slices: slices.GetIndexer(),
		Add:   func(key types.NamespacedName, causes ...int64) { c.loop.Add(key, causes...) },
		Sized: c.batch.Computed,
	})
	if err != nil {
		return err
	}
	c.loop = p.Loop(c)
	c.loop.Watch(p.Informers.Services().Informer(), c.OnService)
	c.loop.Watch(p.Informers.Pods().Informer(), c.wakeForPod, c.ObservePod)
	c.loop.Watch(slices, c.OnSlice, c.ObserveSlice)
	c.loop.Watch(p.Informers.Nodes().Informer(), c.OnNode, c.ObserveNode)
	return nil
}

// wakeForPod enqueues the services of a pod: small ones at once, large ones after a delay
// in which more events may arrive.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.batch.Wake(c.OnPod(ev), ev, c.loop.AddAfter)
}
