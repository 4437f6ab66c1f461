package replicaset

import (
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Name is upstream's name of the controller.
const Name = "replicaset-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"replicaset"}, Account: "replicaset-controller",
		About:   "keeps the pods of ReplicaSets",
		Watches: []string{"replicasets", "pods"}, Writes: []string{"pods", "replicasets/status"},
		Docs: "concepts/workloads/controllers/replicaset/",
		Concurrency: controller.Concurrency{Flag: "concurrent-replicaset-syncs", What: "ReplicaSets", In: func(s *controller.Settings) *int32 {
			return &s.ReplicaSetController.ConcurrentRSSyncs
		}},
		Build: build,
	}
}

func build(p *controller.Parts) error {
	return Build(p, p.Name, p.Informers.ReplicaSets().Informer(), ReplicaSets())
}

// Build builds a controller that creates and deletes the pods of owners, which are in the cache of informer. Its keys are
// the owners. component is the source of its events.
func Build[T plan.Object](p *controller.Parts, component string, informer cache.SharedIndexInformer, owners Owners[T]) error {
	r, err := NewReconciler(owners, Sources{
		Clock: p.Clock, ReplicaSets: informer.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(component)},
	})
	if err != nil {
		return err
	}
	l := p.Loop(r)
	l.Watch(informer, r.OnReplicaSet)
	l.Watch(p.Informers.Pods().Informer(), r.OnPod, r.ObservePod)
	return nil
}
