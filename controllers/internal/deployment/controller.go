package deployment

import (
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "deployment-controller", Workers: 5, Aliases: []string{"deployment"}, Account: "deployment-controller",
		About:   "rolls out Deployments over ReplicaSets",
		Watches: []string{"deployments", "replicasets", "pods"}, Writes: []string{"deployments", "deployments/status", "replicasets"},
		Docs: "concepts/workloads/controllers/deployment/",
		Concurrency: controller.Concurrency{Flag: "concurrent-deployment-syncs", What: "Deployments", In: func(s *controller.Settings) *int32 {
			return &s.DeploymentController.ConcurrentDeploymentSyncs
		}},
		Build: build,
	}
}

func build(p *controller.Parts) error {
	deployments, replicaSets, pods := p.Informers.Deployments().Informer(), p.Informers.ReplicaSets().Informer(), p.Informers.Pods().Informer()
	r, err := NewReconciler(Sources{
		Clock: p.Clock, Deployments: deployments.GetIndexer(), ReplicaSets: replicaSets.GetIndexer(),
		Executor: executor.Executor{Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For(p.Name)},
	})
	if err != nil {
		return err
	}
	l := p.Loop(r)
	l.Watch(deployments, r.OnDeployment)
	l.Watch(replicaSets, r.OnReplicaSet)
	l.Watch(pods, r.OnPod, r.ObservePod)
	return nil
}
