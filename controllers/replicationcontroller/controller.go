package replicationcontroller

import (
	"context"

	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/replicaset"
)

// Name is the controller's name, as upstream has it.
const Name = "replicationcontroller-controller"

// component is who the controller's events come from, as upstream has it.
const component = "replication-controller"

// New returns a controller of ReplicationControllers that is not yet running.
func New(_ context.Context, e *env.Env) (*replicaset.Controller, error) {
	return replicaset.NewOf(e, Name, component, e.Informers.Core().V1().ReplicationControllers().Informer(), Owners())
}
