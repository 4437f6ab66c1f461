package manager

import (
	"context"

	"minikcm.dev/minikcm/controllers/cronjob"
	"minikcm.dev/minikcm/controllers/daemonset"
	"minikcm.dev/minikcm/controllers/deployment"
	"minikcm.dev/minikcm/controllers/disruption"
	"minikcm.dev/minikcm/controllers/endpoints"
	"minikcm.dev/minikcm/controllers/endpointslice"
	"minikcm.dev/minikcm/controllers/endpointslicemirroring"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/controllers/garbagecollector"
	"minikcm.dev/minikcm/controllers/job"
	"minikcm.dev/minikcm/controllers/namespace"
	"minikcm.dev/minikcm/controllers/nodelifecycle"
	"minikcm.dev/minikcm/controllers/podgc"
	"minikcm.dev/minikcm/controllers/replicaset"
	"minikcm.dev/minikcm/controllers/replicationcontroller"
	"minikcm.dev/minikcm/controllers/rootca"
	"minikcm.dev/minikcm/controllers/serviceaccount"
	"minikcm.dev/minikcm/controllers/statefulset"
	"minikcm.dev/minikcm/controllers/tainteviction"
	"minikcm.dev/minikcm/controllers/ttlafterfinished"
)

// Controller is what a constructor returns: something that works until its
// context ends.
type Controller interface {
	// Run returns when ctx has ended and all of the controller with it. An error
	// before that ends the process's other controllers too.
	Run(ctx context.Context) error
}

// Descriptor is one controller's row in the table.
type Descriptor struct {
	// Name is upstream's.
	Name string
	// Aliases are the names by which upstream's command line knows it too.
	Aliases []string
	// DisabledByDefault: "*" does not select it.
	DisabledByDefault bool
	// New makes the controller and asks env's informers for what it needs. It
	// starts nothing.
	New func(ctx context.Context, e *env.Env) (Controller, error)
}

// Descriptors returns the table, in the order in which controllers are made.
func Descriptors() []Descriptor {
	return []Descriptor{
		{Name: namespace.Name, Aliases: []string{"namespace"}, New: constructor(namespace.New)},
		{Name: serviceaccount.Name, Aliases: []string{"serviceaccount"}, New: constructor(serviceaccount.New)},
		{Name: rootca.Name, Aliases: []string{"root-ca-cert-publisher"}, New: constructor(rootca.New)},
		{Name: deployment.Name, Aliases: []string{"deployment"}, New: constructor(deployment.New)},
		{Name: replicaset.Name, Aliases: []string{"replicaset"}, New: constructor(replicaset.New)},
		{Name: replicationcontroller.Name, Aliases: []string{"replicationcontroller"}, New: constructor(replicationcontroller.New)},
		{Name: daemonset.Name, Aliases: []string{"daemonset"}, New: constructor(daemonset.New)},
		{Name: statefulset.Name, Aliases: []string{"statefulset"}, New: constructor(statefulset.New)},
		{Name: job.Name, Aliases: []string{"job"}, New: constructor(job.New)},
		{Name: cronjob.Name, Aliases: []string{"cronjob"}, New: constructor(cronjob.New)},
		{Name: ttlafterfinished.Name, Aliases: []string{"ttl-after-finished"}, New: constructor(ttlafterfinished.New)},
		{Name: disruption.Name, Aliases: []string{"disruption"}, New: constructor(disruption.New)},
		{Name: endpointslice.Name, Aliases: []string{"endpointslice"}, New: constructor(endpointslice.New)},
		{Name: endpointslicemirroring.Name, Aliases: []string{"endpointslicemirroring"}, New: constructor(endpointslicemirroring.New)},
		{Name: endpoints.Name, Aliases: []string{"endpoint"}, New: constructor(endpoints.New)},
		{Name: garbagecollector.Name, Aliases: []string{"garbagecollector"}, New: constructor(garbagecollector.New)},
		{Name: nodelifecycle.Name, Aliases: []string{"nodelifecycle"}, New: constructor(nodelifecycle.New)},
		{Name: tainteviction.Name, New: constructor(tainteviction.New)},
		{Name: podgc.Name, Aliases: []string{"podgc"}, New: constructor(podgc.New)},
	}
}

// constructor gives a package's New the table's type.
func constructor[C Controller](make func(context.Context, *env.Env) (C, error)) func(context.Context, *env.Env) (Controller, error) {
	return func(ctx context.Context, e *env.Env) (Controller, error) { return make(ctx, e) }
}
