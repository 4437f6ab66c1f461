package hooks

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	registration "k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"
)

// Objects are the objects of one resource, as new as the writes of this process.
type Objects interface {
	// Empty reports whether there are none.
	Empty(ctx context.Context) (bool, error)
	// Version returns a number that grows with every change.
	Version() int64
	// KnownIn returns the objects in a namespace; empty: in all. They must not be modified.
	KnownIn(ctx context.Context, namespace string) ([]runtime.Object, error)
}

// synced is an informer without objects that has synced. Calls of its other methods panic.
type synced struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedInformer.
func (synced) HasSynced() bool { return true }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration. Upstream's plugins do
// not call it.
func (synced) HasSyncedChecker() cache.DoneChecker { return nil }

// pulled is an informer that reads the server's objects when it is refreshed, which is in
// each request, instead of by a watch: a request sees all objects that were written before it.
type pulled struct {
	synced
	objects  Objects
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler

	mu      sync.Mutex
	filled  bool
	version int64
}

func newPulled(objects Objects) *pulled {
	return &pulled{objects: objects, indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
}

// AddEventHandler implements cache.SharedInformer. It is called before the first refresh.
func (p *pulled) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	p.handlers = append(p.handlers, handler)
	return synced{}, nil
}

// GetIndexer implements cache.SharedIndexInformer.
func (p *pulled) GetIndexer() cache.Indexer { return p.indexer }

// refresh reads the objects if they have changed, and calls the handlers for each change.
func (p *pulled) refresh(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The version is that before the list, so a change meanwhile is read next time.
	version := p.objects.Version()
	if p.filled && version == p.version {
		return nil
	}
	objects, err := p.objects.KnownIn(ctx, "")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, obj := range objects {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return fmt.Errorf("reading an object for admission: %w", err)
		}
		known[key] = true
		if err := p.put(key, obj); err != nil {
			return fmt.Errorf("reading %s for admission: %w", key, err)
		}
	}
	for _, key := range p.indexer.ListKeys() {
		if known[key] {
			continue
		}
		gone, _, err := p.indexer.GetByKey(key)
		if err != nil {
			return err
		}
		if err := p.indexer.Delete(gone); err != nil {
			return err
		}
		for _, handler := range p.handlers {
			handler.OnDelete(gone)
		}
	}
	p.filled, p.version = true, version
	return nil
}

// put stores an object, unless it is there in the same version.
func (p *pulled) put(key string, obj any) error {
	old, exists, err := p.indexer.GetByKey(key)
	if err != nil {
		return err
	}
	if exists && versionOf(old) == versionOf(obj) {
		return nil
	}
	if err := p.indexer.Add(obj); err != nil {
		return err
	}
	for _, handler := range p.handlers {
		if exists {
			handler.OnUpdate(old, obj)
		} else {
			handler.OnAdd(obj, false)
		}
	}
	return nil
}

func versionOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}

// pulledFactory is an informer factory with some informers, each under an object of its
// type. Calls of its other methods panic.
type pulledFactory struct {
	informers.SharedInformerFactory
	byType map[reflect.Type]*pulled
}

// InformerFor implements informers.SharedInformerFactory.
func (f pulledFactory) InformerFor(obj runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.byType[reflect.TypeOf(obj)]
}

// Admissionregistration implements informers.SharedInformerFactory.
func (f pulledFactory) Admissionregistration() registration.Interface {
	return registration.New(f, "", nil)
}

// Core implements informers.SharedInformerFactory.
func (f pulledFactory) Core() core.Interface { return core.New(f, "", nil) }
