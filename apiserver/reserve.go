package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/crd"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/services"
	"minikcm.dev/minikcm/apiserver/storage"
)

// reserveFor returns the function that reserves what a write needs and what is unique in the cluster:
// the addresses and node ports of Services, the names of custom kinds. It is nil for all other
// resources.
func (s *Server) reserveFor(row *resources.Resource) storage.Reserve {
	switch row.GVR() {
	case crd.Resource:
		return func(ctx context.Context, obj, old runtime.Object, _ bool) (func(error), error) {
			return s.definitions.Reserve(ctx, obj, old)
		}
	case corev1.SchemeGroupVersion.WithResource("services"):
		return s.services.Reserve
	}
	if flows(row) {
		return s.reserveFlow
	}
	return nil
}

// newServices returns what the server does for Services.
func (s *Server) newServices() *services.Services {
	return services.New(services.Options{
		Objects: s.storedObjects, Row: s.table.ByKind, Ensure: s.ensure, Started: s.ready.Load,
		Client: func() *rest.Config { return Protobuf(s.Config(serverName, auth.GroupMasters)) },
		Scheme: s.scheme, Preparer: s.preparer, Fields: s.fields, Log: s.log,
		Store: s.opts.Store, Decoder: s.decoder, Random: s.opts.Random, Clock: s.opts.Clock, Logger: s.opts.Logger,
		Ranges: s.opts.ServiceRanges, NodePorts: s.opts.NodePorts, AdvertiseAddress: s.opts.AdvertiseAddress, SharedStore: s.opts.SharedStore,
	})
}

// storedObjects returns the storage of a built-in resource; nil if it has none of its own.
func (s *Server) storedObjects(resource schema.GroupVersionResource) *storage.Objects {
	return s.stored[resource]
}
