package chaosmesh

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/scenarios/fault"
)

// User makes the requests that the objects ask for.
const User = "minikcm:chaos-mesh"

// pauseAnnotation pauses an experiment while it is "true": its faults are taken back.
const pauseAnnotation = "experiment.chaos-mesh.org/pause"

// Controller runs the objects of a cluster. Make it with New after Install, then Start it.
type Controller struct {
	cluster *minikcm.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	factory informers.Kinds
	logger  klog.Logger
	random  *clock.Random

	mu      sync.Mutex
	running map[types.UID]*experiment
	works   sync.WaitGroup
	over    bool
}

// experiment is an object being run with a spec.
type experiment struct {
	cancel context.CancelCauseFunc
	spec   any
}

// Why an experiment ends early.
var (
	errPaused  = errors.New("paused")
	errDeleted = errors.New("deleted")
	// errChanged ends a Schedule whose spec was changed: it is run again with the new one.
	errChanged = errors.New("changed")
)

// New returns a controller for the cluster.
func New(cluster *minikcm.Cluster, logger klog.Logger) (*Controller, error) {
	config := jsonConfig(cluster.ConfigFor(User, "system:masters"))
	config.Wrap(cause.Wrap)
	c := &Controller{cluster: cluster, logger: logger, random: clock.NewRandom(cluster.Seed()).Keyed("chaos-mesh"), running: map[types.UID]*experiment{}}
	var err error
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making the client of the Chaos Mesh controller: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making the client of the Chaos Mesh controller: %w", err)
	}
	if c.factory, err = informers.KindsFor(config, cluster.Ledger()); err != nil {
		return nil, err
	}
	return c, nil
}

// The informers' factory has one informer for each of these types.
type (
	podChaosObject     struct{ unstructured.Unstructured }
	networkChaosObject struct{ unstructured.Unstructured }
	dnsChaosObject     struct{ unstructured.Unstructured }
	httpChaosObject    struct{ unstructured.Unstructured }
	scheduleObject     struct{ unstructured.Unstructured }
	workflowObject     struct{ unstructured.Unstructured }
)

// Start runs existing and new objects until stop is called, which returns when all of the
// controller's faults have been taken back. The ledger counts the informers before Start returns,
// so that no virtual time passes before they have synced.
func (c *Controller) Start() (stop func(), err error) {
	watching := jsonConfig(c.cluster.ConfigFor(User, "system:masters"))
	if c.cluster.Ledger() != nil {
		informers.Wrap(watching)
	}
	client, err := dynamic.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making the client of the Chaos Mesh controller's informers: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop = func() {
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		cancel()
		c.works.Wait()
		c.factory.Shutdown()
	}
	for _, watched := range []struct {
		kind string
		key  runtime.Object
	}{{KindPodChaos, &podChaosObject{}}, {KindNetworkChaos, &networkChaosObject{}}, {KindDNSChaos, &dnsChaosObject{}}, {KindHTTPChaos, &httpChaosObject{}}, {KindSchedule, &scheduleObject{}}, {KindWorkflow, &workflowObject{}}} {
		informer := c.factory.InformerFor(watched.key, newInformer(client, watched.kind))
		if _, err := informer.AddEventHandler(c.handler(ctx, watched.kind)); err != nil {
			stop()
			return nil, fmt.Errorf("watching objects of kind %s: %w", watched.kind, err)
		}
	}
	c.factory.Start(ctx.Done())
	return stop, nil
}

func newInformer(client dynamic.Interface, kind string) func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
	return func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return dynamicinformer.NewFilteredDynamicInformer(client, resourceOf(kind), "", 0, cache.Indexers{}, nil).Informer()
	}
}

func (c *Controller) handler(ctx context.Context, kind string) cache.ResourceEventHandler {
	see := func(obj any) {
		if object, ok := obj.(*unstructured.Unstructured); ok {
			c.see(ctx, kind, object.DeepCopy())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, obj any) { see(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if object, ok := obj.(*unstructured.Unstructured); ok {
				c.end(object.GetUID(), errDeleted)
			}
		},
	}
}

// see begins to run an object that does not run yet, or ends one that is to pause.
func (c *Controller) see(ctx context.Context, kind string, object *unstructured.Unstructured) {
	switch {
	case object.GetDeletionTimestamp() != nil:
		c.end(object.GetUID(), errDeleted)
		return
	case object.GetAnnotations()[pauseAnnotation] == "true":
		c.end(object.GetUID(), errPaused)
		return
	}
	if done(kind, object) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.running[object.GetUID()]
	if c.over || before != nil && (kind != KindSchedule || reflect.DeepEqual(before.spec, object.Object["spec"])) {
		return
	}
	if before != nil {
		before.cancel(errChanged)
	}
	work := inflight.Begin(c.cluster.Ledger(), inflight.Action)
	own, cancel := inflight.WithCancelCause(inflight.With(cause.With(ctx, cause.Of(object)), work))
	e := &experiment{cancel: cancel, spec: object.Object["spec"]}
	c.running[object.GetUID()] = e
	c.works.Go(func() {
		defer work.End()
		defer cancel(nil)
		if err := c.run(own, kind, object); err != nil && own.Err() == nil {
			c.failed(ctx, object, err)
		}
	})
}

func (c *Controller) run(ctx context.Context, kind string, object *unstructured.Unstructured) error {
	switch kind {
	case KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos:
		return c.experiment(ctx, experimentOf(kind), object)
	case KindSchedule:
		return c.schedule(ctx, object)
	default:
		return c.workflow(ctx, object)
	}
}

// end ends an experiment, which takes back its faults.
func (c *Controller) end(uid types.UID, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.running[uid]; e != nil {
		e.cancel(why)
		delete(c.running, uid)
	}
}

// sleep lets d of the cluster's time pass.
func (c *Controller) sleep(ctx context.Context, d time.Duration) error {
	return inflight.Sleep(ctx, c.cluster.Clock(), d)
}

func (c *Controller) env() fault.Env {
	return fault.Env{
		Cluster: c.cluster, Client: c.client, Dynamic: c.dynamic, Clock: c.cluster.Clock(),
		Random: c.random.Fork(), Exempt: []string{User},
	}
}
