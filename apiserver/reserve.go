package apiserver

import (
	"context"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/services"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/auth"
)

// reservations implements resources.Reservations.
type reservations struct{ *Server }

// ReserveService reserves the addresses and node ports of a Service.
func (s reservations) ReserveService(ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
	return s.services.Reserve(ctx, obj, old, dryRun)
}

// ReserveFlow sets the condition Dangling of a FlowSchema that is about to be written.
// When a priority level is created or deleted, it updates the conditions of the
// FlowSchemas.
func (s reservations) ReserveFlow(ctx context.Context, obj, old runtime.Object, _ bool) (func(error), error) {
	if schema, ok := obj.(*flowcontrolv1.FlowSchema); ok {
		was, _ := old.(*flowcontrolv1.FlowSchema)
		if was == nil || was.Spec.PriorityLevelConfiguration != schema.Spec.PriorityLevelConfiguration || len(schema.Status.Conditions) == 0 {
			if err := s.flows.SetDangling(ctx, schema); err != nil {
				return nil, err
			}
		}
	}
	return func(outcome error) {
		if outcome == nil && (obj == nil || isLevel(obj) && old == nil) {
			s.registrar.Load().now(ctx, s.settleFlows)
		}
	}, nil
}

func isLevel(obj runtime.Object) bool {
	_, is := obj.(*flowcontrolv1.PriorityLevelConfiguration)
	return is
}

// reserveFor returns the row's function that reserves the values that a write needs and that
// are unique in the cluster; nil if there is none.
func (s *Server) reserveFor(row *resources.Resource) storage.Reserve {
	reserve := row.Strategy.Reserve
	if reserve == nil {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object, dryRun bool) (func(error), error) {
		return reserve(reservations{s}, ctx, obj, old, dryRun)
	}
}

// newServices returns the Services, which do the server's work for Services.
func (s *Server) newServices() *services.Services {
	return services.New(services.Options{
		Objects: s.storedObjects, Row: s.table.ByKind, Ensure: s.own.Ensure, Started: s.ready.Load,
		Client: func() *rest.Config { return Protobuf(s.Config(serverName, auth.GroupMasters)) },
		Scheme: s.scheme, Preparer: s.preparer, Fields: s.fields, Log: s.log,
		Store: s.opts.Encryption.Store(s.opts.Store, schema.GroupResource{Resource: "servicenodeportallocations"}), Decoder: s.decoder, Random: s.opts.Random, Clock: s.opts.Clock, Logger: s.opts.Logger,
		Ranges: s.opts.ServiceRanges, NodePorts: s.opts.NodePorts, AdvertiseAddress: s.opts.AdvertiseAddress, SharedStore: s.opts.SharedStore,
	})
}

// storedObjects returns the storage of a built-in resource; nil if it has none of its own.
func (s *Server) storedObjects(resource schema.GroupVersionResource) *storage.Objects {
	return s.stored[resource]
}
