package informers

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/reference"
)

// Factory is client-go's SharedInformerFactory with informers that the ledger counts. It never
// resyncs: handlers get changes only.
type Factory struct {
	kubeinformers.SharedInformerFactory
	options
	client kubernetes.Interface
	ledger *clock.Ledger
	// referrer makes the informers of built-in kinds if byReference is set.
	referrer *referrer

	mu        sync.Mutex
	informers []*informer
	shutDown  bool
}

var _ kubeinformers.SharedInformerFactory = (*Factory)(nil)

// options are apart from Factory, so that a package may name an Option and compile nothing of
// the factory (see Kinds).
type options struct {
	namespace   string
	tweak       internalinterfaces.TweakListOptionsFunc
	transform   cache.TransformFunc
	byReference bool
	staged      bool
}

// Option configures the informers of a Factory.
type Option func(*options)

// WithNamespace limits the informers to one namespace.
func WithNamespace(namespace string) Option {
	return func(o *options) { o.namespace = namespace }
}

// WithTweakListOptions changes the options of every list and watch request, for
// example to set a selector.
func WithTweakListOptions(tweak func(*ListOptions)) Option {
	return func(o *options) { o.tweak = tweak }
}

// WithTransform calls transform with each object before it is stored.
func WithTransform(transform cache.TransformFunc) Option {
	return func(o *options) { o.transform = transform }
}

// Staged makes the events of watches wait for steps while the ledger holds stages (inflight.Ledger.PauseStages), before the reflector
// reads them and before it queues them.
func Staged() Option { return func(o *options) { o.staged = true } }

// NewForConfig returns a factory with a client of its own, made from a copy of
// config that Wrap has prepared.
func NewForConfig(config *rest.Config, ledger *clock.Ledger, opts ...Option) (*Factory, error) {
	config = rest.CopyConfig(config)
	if ledger != nil {
		Wrap(config)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the informers' client: %w", err)
	}
	f := New(client, ledger, opts...)
	if f.byReference {
		if f.referrer, err = newReferrer(config); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// New returns a factory that lists and watches with client. The client's
// configuration must have been prepared with Wrap; otherwise the ledger counts an event
// only from the moment at which the reflector stores it. With a nil ledger the informers are
// plain client-go informers.
func New(client kubernetes.Interface, ledger *clock.Ledger, opts ...Option) *Factory {
	f := &Factory{client: client, ledger: ledger}
	for _, opt := range opts {
		opt(&f.options)
	}
	f.SharedInformerFactory = f.plain()
	return f
}

// plain returns client-go's own factory with the same options.
func (f *Factory) plain() kubeinformers.SharedInformerFactory {
	return kubeinformers.NewSharedInformerFactoryWithOptions(f.client, 0,
		kubeinformers.WithNamespace(f.namespace),
		kubeinformers.WithTweakListOptions(f.tweak),
		kubeinformers.WithTransform(f.transform))
}

// InformerFor returns the one informer for obj's type, which newFunc makes if there
// is none yet.
func (f *Factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	if f.ledger == nil {
		return f.SharedInformerFactory.InformerFor(obj, newFunc)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var made *informer
	shared := f.SharedInformerFactory.InformerFor(obj, func(client kubernetes.Interface, _ resyncPeriod) cache.SharedIndexInformer {
		inner, table := f.inner(obj, client, newFunc)
		made = newInformer(inner, f.ledger)
		made.flow.staged = f.staged
		if table != nil {
			made.flow.peek = table.Peek
		}
		return made
	})
	if made != nil {
		f.informers = append(f.informers, made)
	}
	return shared
}

// inner returns client-go's informer for obj's type, and the table of the objects that its server refers to; nil: it sends them.
func (f *Factory) inner(obj runtime.Object, client kubernetes.Interface, newFunc internalinterfaces.NewInformerFunc) (cache.SharedIndexInformer, *reference.Table) {
	if f.referrer != nil {
		if shared, table, err := f.referrer.informer(f, obj); err == nil {
			return shared, table
		}
	}
	return newFunc(client, 0), nil
}

// ForResource returns the informer and the lister of one of client-go's resources.
func (f *Factory) ForResource(resource schema.GroupVersionResource) (kubeinformers.GenericInformer, error) {
	if f.ledger == nil {
		return f.SharedInformerFactory.ForResource(resource)
	}
	// Only a method of client-go's factory maps resources to types. The informer that it makes
	// is wrapped, unless there is one already.
	generic, err := f.plain().ForResource(resource)
	if err != nil {
		return nil, err
	}
	obj, err := objectOf(resource)
	if err != nil {
		return nil, err
	}
	shared := f.InformerFor(obj, func(kubernetes.Interface, resyncPeriod) cache.SharedIndexInformer { return generic.Informer() })
	return genericInformer{informer: shared, resource: resource.GroupResource()}, nil
}

// objectOf returns an empty object of the type that resource holds.
func objectOf(resource schema.GroupVersionResource) (runtime.Object, error) {
	for kind := range scheme.Scheme.KnownTypes(resource.GroupVersion()) {
		gvk := resource.GroupVersion().WithKind(kind)
		if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural == resource {
			return scheme.Scheme.New(gvk)
		}
	}
	return nil, fmt.Errorf("no type is known for %s", resource)
}

type genericInformer struct {
	informer cache.SharedIndexInformer
	resource schema.GroupResource
}

func (g genericInformer) Informer() cache.SharedIndexInformer { return g.informer }

func (g genericInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(g.informer.GetIndexer(), g.resource)
}

// Start is StartWithContext with a channel.
func (f *Factory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext starts the requested informers that are not running yet. They run until ctx
// ends. They are in flight when it returns.
func (f *Factory) StartWithContext(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutDown {
		return
	}
	for _, i := range f.informers {
		i.flow.start()
	}
	f.SharedInformerFactory.StartWithContext(ctx)
}

// Shutdown waits until all started informers have ended, which they do when the context of
// StartWithContext ends. No informer can be started afterwards.
func (f *Factory) Shutdown() {
	f.mu.Lock()
	f.shutDown = true
	f.mu.Unlock()
	f.SharedInformerFactory.Shutdown()
}

// WaitForCacheSync waits until all started informers have synced, or stopCh is closed.
func (f *Factory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.SharedInformerFactory.WaitForCacheSync(stopCh)
}
