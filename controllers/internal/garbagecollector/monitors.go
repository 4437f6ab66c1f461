package garbagecollector

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
)

// shared are the kinds that other controllers watch anyway and that change often. Their
// shared informers are used, so that their events are encoded and decoded only once.
var shared = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "nodes"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "endpoints"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Version: "v1", Resource: "namespaces"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// monitors are the informers of all kinds, one for each.
type monitors struct {
	metadata metadata.Interface
	ledger   *clock.Ledger
	shared   map[schema.GroupVersionResource]cache.SharedIndexInformer
	deliver  func(Kind, change)

	mu      sync.Mutex
	running map[schema.GroupVersionResource]*monitor
	ended   sync.WaitGroup
}

// change is an informer's event about one object.
type change struct {
	object  graph.Observation
	deleted bool
	// revision is the resourceVersion of the change; 0 if unknown.
	revision int64
}

// monitor is the informer of one kind. stop is nil for a shared informer.
type monitor struct {
	kind         Kind
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	stop         context.CancelFunc
}

func newMonitors(client metadata.Interface, e *env.Env, deliver func(Kind, change)) (*monitors, error) {
	m := &monitors{
		metadata: client, ledger: e.Ledger, deliver: deliver,
		shared:  map[schema.GroupVersionResource]cache.SharedIndexInformer{},
		running: map[schema.GroupVersionResource]*monitor{},
	}
	for _, gvr := range shared {
		generic, err := e.Informers.ForResource(gvr)
		if err != nil {
			return nil, fmt.Errorf("finding the shared informer of %v: %w", gvr, err)
		}
		m.shared[gvr] = generic.Informer()
	}
	return m, nil
}

// sync starts and stops informers so that they match kinds, and returns the ones that it has stopped. It keeps the informers of the groups in keep, whose kinds are unknown.
// The informers run until ctx ends.
func (m *monitors) sync(ctx context.Context, kinds []Kind, keep map[string]bool) (removed []*monitor, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := make(map[schema.GroupVersionResource]bool, len(kinds))
	for _, kind := range kinds {
		wanted[kind.Resource] = true
		if running := m.running[kind.Resource]; running != nil && running.kind == kind {
			continue
		}
		if running := m.running[kind.Resource]; running != nil {
			removed = append(removed, m.remove(running))
		}
		if err := m.start(ctx, kind); err != nil {
			return removed, err
		}
	}
	for gvr, running := range m.running {
		if !wanted[gvr] && !keep[gvr.Group] {
			removed = append(removed, m.remove(running))
		}
	}
	return removed, nil
}

func (m *monitors) start(ctx context.Context, kind Kind) error {
	mon := &monitor{kind: kind, informer: m.shared[kind.Resource]}
	if mon.informer == nil {
		inner := metadatainformer.NewFilteredMetadataInformer(m.metadata, kind.Resource, metav1.NamespaceAll, 0, nil, nil).Informer()
		mon.informer = informers.Counted(inner, m.ledger)
		// SetTransform fails only after the informer was started.
		_ = mon.informer.SetTransform(onlyNeeded)
		own, stop := context.WithCancel(ctx)
		mon.stop = stop
		defer m.ended.Go(func() { mon.informer.RunWithContext(own) })
	}
	registration, err := mon.informer.AddEventHandler(m.handler(kind))
	if err != nil {
		if mon.stop != nil {
			mon.stop()
		}
		return fmt.Errorf("watching %v: %w", kind.Resource, err)
	}
	mon.registration = registration
	m.running[kind.Resource] = mon
	return nil
}

func (m *monitors) remove(mon *monitor) *monitor {
	// RemoveEventHandler fails only on an informer that has stopped.
	_ = mon.informer.RemoveEventHandler(mon.registration)
	if mon.stop != nil {
		mon.stop()
	}
	delete(m.running, mon.kind.Resource)
	return mon
}

// stopAll stops all informers and waits until they have ended.
func (m *monitors) stopAll() {
	m.mu.Lock()
	for _, mon := range m.running {
		m.remove(mon)
	}
	m.mu.Unlock()
	m.ended.Wait()
}

// synced returns the checkers of whether each informer has delivered its initial list.
func (m *monitors) synced() []cache.DoneChecker {
	m.mu.Lock()
	defer m.mu.Unlock()
	var checkers []cache.DoneChecker
	for _, mon := range m.running {
		checkers = append(checkers, mon.registration.HasSyncedChecker())
	}
	return checkers
}

func (m *monitors) handler(kind Kind) cache.ResourceEventHandler {
	apiVersion, kindName := kind.Kind.ToAPIVersionAndKind()
	report := func(obj any, deleted bool) {
		object, err := meta.Accessor(obj)
		if err != nil {
			return
		}
		c := change{object: graph.Observe(apiVersion, kindName, object), deleted: deleted}
		if revision, err := strconv.ParseInt(c.object.ResourceVersion, 10, 64); err == nil {
			c.revision = revision
		}
		m.deliver(kind, c)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { report(obj, false) },
		UpdateFunc: func(old, obj any) {
			before, err := meta.Accessor(old)
			if err != nil || before.GetUID() == "" {
				report(obj, false)
				return
			}
			// Another object replaced old under its name while the watch was interrupted.
			if after, err := meta.Accessor(obj); err == nil && after.GetUID() != before.GetUID() {
				report(old, true)
			}
			report(obj, false)
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			report(obj, true)
		},
	}
}

// onlyNeeded drops the metadata that the graph does not use, because the informers hold all
// objects of the cluster.
func onlyNeeded(obj any) (any, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	o.ManagedFields, o.Annotations, o.Labels = nil, nil, nil
	return o, nil
}
