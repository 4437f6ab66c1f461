package daemonset

import (
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
)

// Name is upstream's name of the controller.
const Name = "daemonset-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 2, Aliases: []string{"daemonset"}, Account: "daemon-set-controller",
		About:   "keeps a pod on each node for DaemonSets",
		Watches: []string{"daemonsets", "controllerrevisions", "nodes", "pods"}, Writes: []string{"pods", "controllerrevisions", "daemonsets/status"},
		Docs: "concepts/workloads/controllers/daemonset/",
		Concurrency: controller.Concurrency{Flag: "concurrent-daemonset-syncs", What: "DaemonSets", In: func(s *controller.Settings) *int32 {
			return &s.DaemonSetController.ConcurrentDaemonSetSyncs
		}},
		Build: build,
	}
}

func build(p *controller.Parts) error {
	sets, revisions := p.Informers.DaemonSets().Informer(), p.Informers.ControllerRevisions().Informer()
	pods, nodes := p.Informers.Pods().Informer(), p.Informers.Nodes().Informer()
	r, err := NewReconciler(Sources{
		Clock: p.Clock, DaemonSets: sets.GetIndexer(), Pods: pods.GetIndexer(), Revisions: revisions.GetIndexer(), Nodes: nodes.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name)},
	})
	if err != nil {
		return err
	}
	l := p.Loop(r)
	l.Watch(sets, r.OnDaemonSet)
	l.Watch(revisions, r.OnRevision)
	l.Watch(pods, r.OnPod)
	l.Watch(nodes, r.OnNode)
	return nil
}
