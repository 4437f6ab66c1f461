package resourcequota

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/quota"
)

// counted runs the informers of kinds for which quotas limit only the number of objects. Each runs
// from the first such quota on.
type counted struct {
	metadata metadata.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	ledger   *clock.Ledger
	// wanted passes informers to run.
	wanted chan *count

	mu      sync.Mutex
	running map[schema.GroupResource]*count
}

// count is the informer of one kind.
type count struct {
	resource schema.GroupResource
	version  schema.GroupVersionResource
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
	synced   <-chan struct{}
	// gone closes stop when the kind is no longer served.
	gone func()
	stop <-chan struct{}
}

func newCounted(config *rest.Config, ledger *clock.Ledger) (*counted, error) {
	// Its transport counts the events for the informers in the ledger.
	config = rest.CopyConfig(config)
	informers.Wrap(config)
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client of %s: %w", Name, err)
	}
	lookup, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client of %s: %w", Name, err)
	}
	return &counted{
		metadata: client, ledger: ledger, wanted: make(chan *count), running: map[schema.GroupResource]*count{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(lookup)),
	}, nil
}

// countedResource returns the kind whose number a limit of that name restricts.
func countedResource(name corev1.ResourceName) (schema.GroupResource, bool) {
	if of, isCount := strings.CutPrefix(string(name), "count/"); isCount {
		return schema.ParseGroupResource(of), true
	}
	return quota.Aliased(name)
}

// run runs the requested informers until ctx ends. It calls changed for each deleted
// object, and for each added one, which may be older than the last count.
func (c *counted) run(ctx context.Context, changed func(gr schema.GroupResource, namespace string)) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-c.wanted:
			report := func(obj any) {
				if last, missed := obj.(cache.DeletedFinalStateUnknown); missed {
					obj = last.Obj
				}
				if object, err := meta.Accessor(obj); err == nil {
					changed(next.resource, object.GetNamespace())
				}
			}
			if _, err := next.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: report, DeleteFunc: report}); err != nil {
				next.gone()
				continue
			}
			all.Go(func() {
				own, cancel := context.WithCancel(ctx)
				defer cancel()
				all.Go(func() {
					select {
					case <-next.stop:
						cancel()
					case <-own.Done():
					}
				})
				next.informer.RunWithContext(own)
			})
		}
	}
}

// scoped reports that a quota does not count objects by number: scopes apply only to pods
// and claims.
func scoped(q *corev1.ResourceQuota) bool {
	return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil
}

// stats counts by an informer. It is a stats function.
func (c *counted) stats(ctx context.Context, gr schema.GroupResource, q *corev1.ResourceQuota, name corev1.ResourceName) (*resource.Quantity, error) {
	number := resource.NewQuantity(0, resource.DecimalSI)
	if scoped(q) {
		return number, nil
	}
	of, err := c.informer(ctx, gr)
	if err != nil || of == nil {
		return nil, err
	}
	select {
	case <-of.synced:
	case <-of.stop:
		return nil, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the %s that quota %s/%s counts by %s: %w", gr, q.Namespace, q.Name, name, ctx.Err())
	}
	objects, err := of.lister.ByNamespace(q.Namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing the %s in %s: %w", gr, q.Namespace, err)
	}
	number.Set(int64(len(objects)))
	return number, nil
}

// informer returns the informer of a kind, and creates it if necessary; nil if the kind
// does not exist.
func (c *counted) informer(ctx context.Context, gr schema.GroupResource) (*count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.running[gr]; of != nil {
		return of, nil
	}
	gvr, err := c.find(gr)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the resource %s: %w", gr, err)
	}
	of := c.newCount(gr, gvr)
	select {
	case c.wanted <- of:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.running[gr] = of
	return of, nil
}

// find returns the resource; it refreshes discovery if the resource is unknown.
func (c *counted) find(gr schema.GroupResource) (schema.GroupVersionResource, error) {
	gvr, err := c.mapper.ResourceFor(gr.WithVersion(""))
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		gvr, err = c.mapper.ResourceFor(gr.WithVersion(""))
	}
	return gvr, err
}

func (c *counted) newCount(gr schema.GroupResource, gvr schema.GroupVersionResource) *count {
	generic := metadatainformer.NewFilteredMetadataInformer(c.metadata, gvr, metav1.NamespaceAll, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil)
	stop := make(chan struct{})
	of := &count{
		resource: gr, version: gvr, informer: informers.Counted(generic.Informer(), c.ledger), lister: generic.Lister(), stop: stop,
		gone: sync.OnceFunc(func() { close(stop) }),
	}
	of.synced = of.informer.HasSyncedChecker().Done()
	// These fail only after the informer was started.
	_ = of.informer.SetTransform(onlyName)
	_ = of.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !apierrors.IsNotFound(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			return
		}
		c.forget(of)
	})
	return of
}

// forget ends the informer of a kind that is no longer served.
func (c *counted) forget(of *count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[of.resource] == of {
		delete(c.running, of.resource)
	}
	c.mapper.Reset()
	of.gone()
}

// onlyName drops everything that is not needed to count.
func onlyName(obj any) (any, error) {
	o, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}}, nil
}
