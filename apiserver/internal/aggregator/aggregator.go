package aggregator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/inflight"
)

const (
	// checkInterval is the time between two checks of an available server, as upstream's
	// resync, and retryInterval that after a failed check. Both are in cluster time.
	checkInterval = 30 * time.Second
	retryInterval = 5 * time.Second
)

// Options configure New. All fields are required except Client.
type Options struct {
	// Objects returns the storage of a resource.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	// Services resolves Services to addresses that can be reached.
	Services webhook.ServiceResolver
	// Inside makes the requests to Services in simulated pods.
	Inside outbound.Inside
	// Skips reports whether the error of Services means that an APIService is skipped: its version then has no
	// resources, and clients are warned.
	Skips func(err error) (warning string, skip bool)
	// IsLocal reports whether this server serves a version itself. An APIService then has no
	// effect.
	IsLocal func(gv schema.GroupVersion) bool
	// Done is closed when the server stops.
	Done <-chan struct{}
	// Update changes the status of an APIService.
	Update func(ctx context.Context, name string, change func(*apiregistrationv1.APIService)) error
	// Client is the client certificate that the requests are made with; nil: none.
	Client *auth.KeyPair
	Clock  clock.Clock
	Ledger *clock.Ledger
	Logger klog.Logger
}

// Aggregator checks the servers of other APIs and passes requests on to them. Its methods may be called
// concurrently.
type Aggregator struct {
	opts   Options
	cancel context.CancelFunc
	// checks has the names of the APIServices whose servers are to be checked. They take no
	// turns: a check waits for another server.
	checks  inflight.Queue[string]
	alarms  inflight.Alarms[string]
	running sync.WaitGroup
	started sync.Once // follows Services and EndpointSlices

	mu sync.Mutex // serializes changes of known
	// known is the newest set.
	known atomic.Pointer[set]
	// remote holds the versions that discovery shows; nil if there are none.
	remote atomic.Pointer[discovery.Remote]
}

// New returns an Aggregator. The caller must call Start and Close.
func New(opts Options) *Aggregator {
	a := &Aggregator{opts: opts, checks: inflight.NewQueue(inflight.QueueOptions[string]{Ledger: opts.Ledger, Name: "aggregator", Ahead: true})}
	a.alarms = inflight.NewAlarms[string](opts.Clock, a.checks.Add)
	a.known.Store(&set{version: -1})
	return a
}

// Start begins to follow the APIServices and to check their servers.
func (a *Aggregator) Start() {
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	a.running.Go(func() {
		a.follow(ctx, apiservices.Resource(), func(obj runtime.Object) {
			if s, ok := obj.(*apiregistrationv1.APIService); ok && (s.Spec.Service != nil || a.find(s.Name) != nil || a.shows(s.Name)) {
				a.started.Do(func() { a.followServices(ctx) })
				a.checks.Add(s.Name)
			}
		})
	})
	a.running.Go(func() { a.checks.Run(ctx, checkers, a.check) })
}

// checkers is how many servers are checked at once.
const checkers = 4

// followServices begins to check servers again when their Service or its addresses change.
func (a *Aggregator) followServices(ctx context.Context) {
	a.running.Go(func() {
		a.follow(ctx, corev1.SchemeGroupVersion.WithResource("services"), func(obj runtime.Object) {
			if s, ok := obj.(*corev1.Service); ok {
				a.recheck(s.Namespace, s.Name)
			}
		})
	})
	a.running.Go(func() {
		a.follow(ctx, discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), func(obj runtime.Object) {
			if s, ok := obj.(*discoveryv1.EndpointSlice); ok {
				a.recheck(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
			}
		})
	})
}

// recheck checks the servers behind a Service.
func (a *Aggregator) recheck(namespace, name string) {
	for _, b := range a.known.Load().backends {
		if ref := b.service.Spec.Service; ref.Namespace == namespace && ref.Name == name {
			a.checks.Add(b.service.Name)
		}
	}
}

// Close ends the checks. It comes after the last request.
func (a *Aggregator) Close() {
	if a.cancel == nil {
		return
	}
	a.cancel()
	a.running.Wait()
	a.alarms.Close()
	a.checks.Close()
	for _, b := range a.known.Load().backends {
		b.close()
	}
}
