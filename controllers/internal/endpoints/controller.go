package endpoints

import (
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "endpoints-controller"

const eventSource = "endpoint-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"endpoint"}, Account: "endpoint-controller",
		About:   "writes the Endpoints of Services",
		Watches: []string{"services", "pods", "endpoints"}, Writes: []string{"endpoints"},
		Docs: "concepts/services-networking/service/#endpoints",
		Concurrency: controller.Concurrency{Flag: "concurrent-endpoint-syncs", What: "Services", In: func(s *controller.Settings) *int32 {
			return &s.EndpointController.ConcurrentEndpointSyncs
		}},
		Build: build,
	}
}

// Controller writes Endpoints. Its keys are services.
type Controller struct {
	*Reconciler
	batch selection.Batch
	loop  loop.Loop
}

func build(p *controller.Parts) error {
	c := &Controller{}
	var err error
	c.Reconciler, err = NewReconciler(Sources{
		Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(eventSource), Sized: c.batch.Computed,
		Services: p.Informers.Services().Informer().GetIndexer(), Pods: p.Informers.Pods().Informer().GetIndexer(), Endpoints: p.Informers.Endpoints().Informer().GetIndexer(),
	})
	if err != nil {
		return err
	}
	c.loop = p.Loop(c)
	c.loop.Watch(p.Informers.Services().Informer(), loop.Self)
	c.loop.Watch(p.Informers.Pods().Informer(), c.wakeForPod, c.ObservePod)
	c.loop.Watch(p.Informers.Endpoints().Informer(), OnEndpoints)
	return nil
}

// wakeForPod enqueues the services of a pod: small ones at once, large ones after a delay
// in which more events may arrive.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.batch.Wake(c.OnPod(ev), ev, c.loop.AddAfter)
}
