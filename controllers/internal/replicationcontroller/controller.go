package replicationcontroller

import (
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "replicationcontroller-controller", Workers: 5, Aliases: []string{"replicationcontroller"}, Account: "replication-controller",
		About:   "keeps the pods of ReplicationControllers",
		Watches: []string{"replicationcontrollers", "pods"}, Writes: []string{"pods", "replicationcontrollers/status"},
		Docs: "concepts/workloads/controllers/replicationcontroller/",
		Concurrency: controller.Concurrency{Flag: "concurrent-rc-syncs", What: "ReplicationControllers", In: func(s *controller.Settings) *int32 {
			return &s.ReplicationController.ConcurrentRCSyncs
		}},
		Build: func(p *controller.Parts) error {
			// The source of its events is upstream's.
			return replicaset.Build(p, "replication-controller", p.Informers.ReplicationControllers().Informer(), Owners())
		},
	}
}
