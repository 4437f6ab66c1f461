package replicationcontroller

import (
	"context"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
)

// Name is upstream's name of the controller.
const Name = "replicationcontroller-controller"

// component is upstream's source of the controller's events.
const component = "replication-controller"

// New returns a controller of ReplicationControllers. Run starts it.
func New(_ context.Context, e *env.Env) (*replicaset.Controller, error) {
	return replicaset.NewOf(e, Name, component, e.Informers.ReplicationControllers().Informer(), Owners())
}
