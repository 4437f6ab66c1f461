package endpointslice

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	upstream "k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/difference"
	"minikcm.dev/minikcm/controllers/internal/endpointslice/selection"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
)

// defaultMost is upstream's default of --max-endpoints-per-slice.
const defaultMost = 100

// errBehind requeues a service until the informer shows the controller's own writes.
var errBehind = errors.New("the cache of endpoint slices is behind")

// Sources holds the dependencies of a reconciler.
type Sources struct {
	Clock  clock.PassiveClock
	Logger klog.Logger
	// Client writes EndpointSlices.
	Client   kubernetes.Interface
	Recorder record.EventRecorder
	// Services, Pods, Nodes and Slices are the informers' caches.
	Services, Pods, Nodes, Slices cache.Indexer
	// Add enqueues a service whose slices another client has changed during its reconcile.
	Add func(service types.NamespacedName, causes ...int64)
	// Most is the number of endpoints that a slice can have; 0 is upstream's default.
	Most int
	// Sized is called with the number of pods that a service has; nil: nothing is called.
	Sized func(service types.NamespacedName, pods int)
	// Take replaces the records' Take if not nil: model tests plant mistakes here.
	Take func(records *difference.Records, service *corev1.Service, nodes int) (p difference.Portion, pods int)
}

// Reconciler is the controller without its loop. It maps events to keys and reconciles them.
// Pass every event of a pod, slice or node to ObservePod, ObserveSlice or ObserveNode before
// OnPod, OnSlice or OnNode.
type Reconciler struct {
	Sources
	logger       klog.Logger
	client       *boundClient
	services     corelisters.ServiceLister
	nodes        corelisters.NodeLister
	nodesEdition atomic.Int64
	records      *difference.Records
	expectations *dependents.Expectations
	selection    *selection.Selection
	library      *upstream.Reconciler
	tracker      *endpointsliceutil.EndpointSliceTracker
	triggers     selection.Triggers
	topology     *topologycache.TopologyCache
}

// NewReconciler returns a reconciler. It adds the indices that it needs to the caches.
func NewReconciler(s Sources) (*Reconciler, error) {
	selected, err := selection.New(s.Pods, s.Services)
	if err != nil {
		return nil, err
	}
	if s.Sized == nil {
		s.Sized = func(types.NamespacedName, int) {}
	}
	if s.Most == 0 {
		s.Most = defaultMost
	}
	if s.Take == nil {
		s.Take = (*difference.Records).Take
	}
	metrics.RegisterMetrics()
	r := &Reconciler{
		Sources: s, logger: s.Logger, services: corelisters.NewServiceLister(s.Services), nodes: corelisters.NewNodeLister(s.Nodes),
		records: difference.NewRecords(s.Most), expectations: dependents.NewExpectations(s.Clock), selection: selected,
		tracker: endpointsliceutil.NewEndpointSliceTracker(), topology: topologycache.NewTopologyCache(),
	}
	r.client = &boundClient{
		Interface: s.Client, slices: discoverylisters.NewEndpointSliceLister(s.Slices), expectations: r.expectations, records: r.records,
		contexts: map[types.NamespacedName]context.Context{}, uids: map[types.NamespacedName]types.UID{}, late: map[types.NamespacedName][]loop.Event{},
	}
	r.library = upstream.NewReconciler(r.client, r.nodes, int32(s.Most), r.tracker, r.topology, s.Recorder, ManagedBy,
		upstream.WithPreferSameTrafficDistributionEnabled(true))
	return r, nil
}

// Reconcile updates the slices of one service.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	service, err := r.services.Services(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		// The garbage collector deletes its slices, because the service owns them.
		r.forget(key)
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting service %s: %w", key, err)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return loop.Result{}, nil // the slices of these services are not this controller's
	}
	if met, _ := r.expectations.Met(service.UID); !met {
		return loop.Result{}, fmt.Errorf("reconciling service %s: %w", key, errBehind)
	}
	portion, size := r.Take(r.records, service, int(r.nodesEdition.Load()))
	done := false
	defer func() { // also if the library panics, which the loop survives
		if !done {
			r.records.Return(key, portion)
		}
	}()
	pods, trigger, err := r.podsOf(service, portion)
	if err != nil {
		return loop.Result{}, err
	}
	if portion.All {
		size = len(pods)
	}
	r.Sized(key, size)
	err = r.update(ctx, service, portion, pods, trigger)
	done = err == nil
	return loop.Result{}, err
}

// podsOf returns the pods of the portion, and the time of the change that is reconciled.
func (r *Reconciler) podsOf(service *corev1.Service, portion difference.Portion) ([]*corev1.Pod, time.Time, error) {
	if portion.All {
		pods, err := r.selection.Pods(service.Namespace, service.Spec.Selector)
		if err != nil {
			return nil, time.Time{}, err
		}
		return pods, r.triggers.All(service, pods), nil
	}
	pods, err := r.selection.Named(service.Namespace, portion.Pods, service.Spec.Selector)
	if err != nil {
		return nil, time.Time{}, err
	}
	return pods, r.triggers.Some(service, portion.Pods, pods), nil
}

func (r *Reconciler) update(ctx context.Context, service *corev1.Service, portion difference.Portion, pods []*corev1.Pod, trigger time.Time) error {
	if !portion.All && len(portion.Changed) == 0 {
		return nil
	}
	late, err := r.client.during(ctx, service, func() error {
		return r.library.Reconcile(klog.FromContext(ctx), service, pods, portion.Slices, trigger)
	})
	r.measure()
	for _, ev := range late {
		for _, key := range r.changedByOthers(ev) {
			r.Add(key, cause.Of(ev.Object)...)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.Recorder.Eventf(service, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices",
			"Error updating Endpoint Slices for Service %s/%s: %v", service.Namespace, service.Name, err)
	}
	return err
}

func (r *Reconciler) forget(service types.NamespacedName) {
	r.Sized(service, 0)
	r.records.Forget(service)
	r.triggers.Forget(service)
	r.library.DeleteService(service.Namespace, service.Name)
	r.tracker.DeleteService(service.Namespace, service.Name)
	r.measure()
}
