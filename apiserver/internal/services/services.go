package services

import (
	"context"
	"net/netip"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/fieldmanager"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/store"
)

// Options configure New. All fields are required, except where the zero value is a value.
type Options struct {
	// Objects returns the storage of a built-in resource, and Row the row of a built-in
	// kind. They are called after New only.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	Row     func(kind schema.GroupVersionKind) *resources.Resource
	// Ensure creates an object of the server itself unless it exists.
	Ensure func(ctx context.Context, obj runtime.Object) error
	// Started reports whether the server serves requests. Until then ServiceCIDRs are read
	// from the store, so that no watch cache is needed.
	Started func() bool
	// Client returns the configuration of a client that acts as the server itself.
	Client   func() *rest.Config
	Scheme   *runtime.Scheme
	Preparer *strategy.Preparer
	Fields   *fieldmanager.Managers
	Log      *writerecord.Log
	// Store has the allocated node ports, whose values it encrypts as configured.
	Store   store.Store
	Decoder *codec.Decoder
	Random  *clock.Random
	Clock   clock.Clock
	Logger  klog.Logger
	// Ranges are the networks of cluster IPs; empty means serviceip.DefaultRange.
	Ranges    []netip.Prefix
	NodePorts serviceip.PortRange
	// AdvertiseAddress is the address in the endpoints of the Service "kubernetes"; the
	// zero Addr means the one that Advertised chooses.
	AdvertiseAddress netip.Addr
	// SharedStore reports that other servers use the store too.
	SharedStore bool
}

// Services reserves the addresses of Services and keeps the server's own.
type Services struct {
	opts      Options
	allocator *serviceip.Allocator
	// listening is the advertised endpoint; nil: none.
	listening atomic.Pointer[endpoint]
	// liveness judges the other servers on a shared store.
	liveness members.Liveness
}

// New returns the Services of a server.
func New(opts Options) *Services {
	s := &Services{opts: opts}
	s.allocator = serviceip.New(serviceip.Config{
		Services: func(ctx context.Context) ([]*corev1.Service, error) {
			return storage.ListAll[*corev1.Service](ctx, opts.Objects(corev1.SchemeGroupVersion.WithResource("services")))
		},
		CIDRs:     s.serviceCIDRs,
		Locks:     addressLocks{s},
		Store:     opts.Store,
		Decoder:   opts.Decoder,
		Random:    opts.Random,
		Clock:     opts.Clock,
		Ranges:    opts.Ranges,
		NodePorts: opts.NodePorts,
		Logger:    opts.Logger,
		Report:    s.report,
	})
	return s
}
