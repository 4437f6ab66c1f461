package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "garbage-collector-controller"

// Upstream's defaults.
const (
	workers = 20
	// discoveryPeriod is the interval between checks for new and removed kinds. A change of
	// a CustomResourceDefinition triggers a check at once.
	discoveryPeriod = 30 * time.Second
	// syncTimeout is the time that the first listing of all objects may take before work
	// begins without the kinds that cannot be listed.
	syncTimeout = 30 * time.Second
)

// recheck is the interval at which an existing object behind a virtual node is looked up
// again, because informers do not cover all kinds.
const recheck = 30 * time.Second

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: workers, Aliases: []string{"garbagecollector"}, Account: "generic-garbage-collector",
		About:   "deletes objects whose owners are gone",
		Watches: []string{"every resource that can be deleted"}, Writes: []string{"every resource that can be deleted"},
		Docs: "concepts/architecture/garbage-collection/",
		Concurrency: controller.Concurrency{Flag: "concurrent-gc-syncs", What: "objects", In: func(s *controller.Settings) *int32 {
			return &s.GarbageCollectorController.ConcurrentGCSyncs
		}},
		Build: build,
	}
}

// Controller deletes objects whose owners are gone.
type Controller struct {
	clock     clock.Clock
	logger    klog.Logger
	api       *api
	discovery discovery.DiscoveryInterface
	tags      *fingerprints
	monitors  *monitors
	keeper    *keeper
	ignored   []config.GroupResource
	events    record.EventRecorder
	// objects processes the objects that may need an action. Its keys are UIDs.
	objects loop.Loop
	// kinds has one key, which reads discovery again.
	kinds loop.Loop

	startOnce sync.Once
	// started is closed when the loop of objects may begin.
	started chan struct{}
	waiting sync.WaitGroup
}

func build(p *controller.Parts) error {
	// The ledger counts the events that the informers receive.
	informers.Wrap(p.Config)
	metadataClient, err := metadata.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("making the metadata client of %s: %w", p.Name, err)
	}
	c := &Controller{
		clock: p.Clock, logger: klog.LoggerWithValues(p.Logger, "controller", p.Name),
		api:       &api{metadata: metadataClient},
		discovery: p.Client.Discovery(),
		keeper:    newKeeper(p.Ledger),
		ignored:   p.Settings.GarbageCollectorController.GCIgnoredResources,
		events:    p.Recorder.For(p.Name),
		started:   make(chan struct{}),
	}
	if c.tags, err = newFingerprints(p.Config); err != nil {
		return err
	}
	if c.monitors, err = newMonitors(metadataClient, p.Env, c.observe); err != nil {
		return err
	}
	c.objects = loop.New(p.Options(), loop.Func(c.collect))
	discovery := p.LoopOptions(p.Name+"-discovery", 1)
	discovery.First = true // the actions on objects depend on which kinds are known
	c.kinds = loop.New(discovery, loop.Func(c.discover))
	c.kinds.Add(discoveryKey)
	p.Debug = c.debug()
	p.Go(c.run)
	return nil
}

// run works until ctx ends. It begins to process objects after all kinds have been listed
// once.
func (c *Controller) run(ctx context.Context) error {
	var parts sync.WaitGroup
	errs := make([]error, 2)
	parts.Go(func() { c.keeper.run(ctx) })
	parts.Go(func() { errs[0] = c.kinds.Run(ctx) })
	parts.Go(func() {
		select {
		case <-c.started:
		case <-ctx.Done():
		}
		errs[1] = c.objects.Run(ctx)
	})
	<-ctx.Done()
	parts.Wait()
	c.waiting.Wait()
	c.monitors.stopAll()
	return errors.Join(errs...)
}

// keyOf returns the key of an object in the loop.
func keyOf(uid types.UID) types.NamespacedName { return types.NamespacedName{Name: string(uid)} }

// observe handles an event of an informer, on the informer's goroutine.
func (c *Controller) observe(kind Kind, ch change) {
	if kind.Kind.GroupKind() == definitionKind {
		c.rediscover(ch.revision)
	}
	c.keeper.submit(func(g *graph.Graph) {
		if ch.deleted {
			c.follow(g.Gone(ch.object.UID), ch.revision)
			return
		}
		c.follow(g.Seen(ch.object), ch.revision)
	})
}

// follow enqueues the objects that the graph wants to be processed, and records events
// about invalid references.
func (c *Controller) follow(changes graph.Changes, causes ...int64) {
	if len(causes) == 1 && causes[0] == 0 {
		causes = nil
	}
	for _, uid := range changes.Wake {
		c.objects.Add(keyOf(uid), causes...)
	}
	for _, invalid := range changes.Invalid {
		c.reportInvalid(invalid)
	}
}

func (c *Controller) reportInvalid(invalid graph.InvalidOwner) {
	d := invalid.Dependent
	ref := &corev1.ObjectReference{
		APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, UID: d.UID,
		ResourceVersion: invalid.ResourceVersion,
	}
	c.events.Eventf(ref, corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
		"ownerRef %s does not exist in namespace %q", invalid.Owner, d.Namespace)
}

// collect decides about one object and executes the action.
func (c *Controller) collect(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	uid := types.UID(key.Name)
	var v graph.View
	var known bool
	if err := c.keeper.ask(ctx, func(g *graph.Graph) { v, known = g.View(uid) }); err != nil || !known {
		return loop.Result{}, err
	}
	if graph.NeedsOwners(v) {
		if err := c.lookUpOwners(ctx, &v); err != nil {
			return loop.Result{}, err
		}
	}
	return c.act(ctx, v, graph.Decide(v))
}

func (c *Controller) act(ctx context.Context, v graph.View, action graph.Action) (loop.Result, error) {
	if action.Verb != graph.Nothing {
		klog.FromContext(ctx).V(4).Info("Acting", "verb", action.Verb, "object", v.Coordinates, "policy", action.Policy)
	}
	switch action.Verb {
	case graph.LookUp:
		return c.lookUp(ctx, v)
	case graph.Release:
		return loop.Result{}, c.api.removeFinalizer(ctx, v.Coordinates, metav1.FinalizerDeleteDependents)
	case graph.OrphanDependents:
		return loop.Result{}, c.orphan(ctx, v.Coordinates)
	case graph.DropOwners:
		return loop.Result{}, c.api.dropOwners(ctx, v.Coordinates, action.Owners...)
	case graph.Unblock:
		return loop.Result{}, c.api.unblock(ctx, v.Coordinates)
	case graph.Delete:
		return loop.Result{}, c.remove(ctx, v, action)
	}
	return loop.Result{}, nil
}
