package statefulset

import (
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
)

// Name is upstream's name of the controller.
const Name = "statefulset-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"statefulset"}, Account: "statefulset-controller",
		About:   "keeps the pods of StatefulSets, in their order, and their claims",
		Watches: []string{"statefulsets", "controllerrevisions", "pods", "persistentvolumeclaims"},
		Writes:  []string{"pods", "persistentvolumeclaims", "controllerrevisions", "statefulsets/status"},
		Docs:    "concepts/workloads/controllers/statefulset/",
		Concurrency: controller.Concurrency{Flag: "concurrent-statefulset-syncs", What: "StatefulSets", In: func(s *controller.Settings) *int32 {
			return &s.StatefulSetController.ConcurrentStatefulSetSyncs
		}},
		Build: build,
	}
}

func build(p *controller.Parts) error {
	sets, revisions := p.Informers.StatefulSets().Informer(), p.Informers.ControllerRevisions().Informer()
	pods, claims := p.Informers.Pods().Informer(), p.Informers.PersistentVolumeClaims().Informer()
	r, err := NewReconciler(Sources{
		Clock: p.Clock, StatefulSets: sets.GetIndexer(), Revisions: revisions.GetIndexer(), Claims: claims.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name)},
	})
	if err != nil {
		return err
	}
	l := p.Loop(r)
	l.Watch(sets, r.OnStatefulSet)
	l.Watch(revisions, r.OnRevision)
	l.Watch(pods, r.OnPod, r.ObservePod)
	l.Watch(claims, r.OnClaim)
	return nil
}
