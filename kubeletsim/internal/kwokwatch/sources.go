package kwokwatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/stages"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Kind is a kind whose definition users install.
type Kind struct {
	// Name is the name of the kind. An invalid object gets an event with the reason InvalidNAME.
	Name     string
	Resource string
	// Group is the API group, kwok's if it is empty, and Versions are those that Read takes, the best one first.
	Group    string
	Versions []string
	// Read makes the objects take effect, sorted by namespace and name. Without the definition there
	// are none. No two calls of Read are concurrent, not even for different kinds.
	Read func(objects []*unstructured.Unstructured) (loop.Result, error)
}

// definition is the name of the kind's definition.
func (k *Kind) definitionName() string { return k.Resource + "." + k.Group }

// served returns the resource of the best version that a definition serves.
func (k *Kind) served(definition *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, wanted := range k.Versions {
		for _, given := range versions {
			if v, _ := given.(map[string]any); v["name"] == wanted && v["served"] == true {
				return schema.GroupVersionResource{Group: k.Group, Version: wanted, Resource: k.Resource}, true
			}
		}
	}
	return schema.GroupVersionResource{}, false
}

// Options configure Sources. All fields but Ledger and Recorder are needed.
type Options struct {
	// Name is the name of the work queue, in the order of turns.
	Name string
	// Client has a transport that the ledger counts (informers.Wrap).
	Client   dynamic.Interface
	Clock    clock.Clock
	Ledger   *clock.Ledger
	Recorder *events.Recorder
	Logger   klog.Logger
}

// Sources watches the objects of kinds. Run it once.
type Sources struct {
	opts    Options
	kinds   map[string]*source
	loop    loop.Typed[key]
	running sync.WaitGroup

	mu sync.Mutex
	// reported is the version of each object whose failure was reported.
	reported map[reference]string
}

// key is something to read: the definition of a kind, or its objects.
type key struct {
	kind       string
	definition bool
}

func (k key) String() string {
	if k.definition {
		return "definition of " + k.kind
	}
	return k.kind
}

type reference struct{ kind, name string }

// source is one kind. The worker of its key owns definition and objects; objects has other readers, too.
type source struct {
	Kind
	definition *Watched
	mu         sync.Mutex
	objects    *Watched // nil: the API does not serve them
}

func (s *source) watching() *Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects
}

func (s *source) watch(w *Watched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = w
}

// New returns Sources of kinds. It makes no request before Run.
func New(opts Options, kinds ...Kind) *Sources {
	s := &Sources{opts: opts, kinds: map[string]*source{}, reported: map[reference]string{}}
	for _, kind := range kinds {
		if kind.Group == "" {
			kind.Group, kind.Versions = stages.Group, []string{stages.Version}
		}
		s.kinds[kind.Name] = &source{Kind: kind}
	}
	s.loop = loop.NewTyped(loop.TypedOptions[key]{
		// The behavior of nodes and pods depends on the objects that it reads.
		Name: opts.Name, KeyName: key.String, First: true, Clock: opts.Clock, Ledger: opts.Ledger, Logger: opts.Logger,
	}, loop.TypedFunc[key](s.read))
	return s
}

// Run watches until ctx ends. It returns after everything that it started has ended, except for
// watches that Watch has started: End ends these.
func (s *Sources) Run(ctx context.Context) error {
	if ctx.Err() == nil {
		for _, name := range s.names() {
			of := s.kinds[name]
			of.definition = s.Watch(definitions, "metadata.name="+of.definitionName(), func(any) { s.loop.Add(key{name, true}) })
		}
	}
	err := s.loop.Run(ctx)
	for _, of := range s.kinds {
		of.watching().End()
		of.definition.End()
	}
	return err
}

// Wait waits until all informers have ended.
func (s *Sources) Wait() { s.running.Wait() }

func (s *Sources) names() []string {
	var names []string
	for name := range s.kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Watched is an informer of one resource.
type Watched struct {
	Informer cache.SharedIndexInformer
	Resource schema.GroupVersionResource
	stop     context.CancelFunc
}

// End ends the informer. Nil has none.
func (w *Watched) End() {
	if w != nil {
		w.stop()
	}
}

// Watch starts an informer, which calls seen for each object that changes.
func (s *Sources) Watch(resource schema.GroupVersionResource, selector string, seen func(obj any)) *Watched {
	inner := dynamicinformer.NewFilteredDynamicInformer(s.opts.Client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = selector
	}).Informer()
	informer := informers.Counted(inner, s.opts.Ledger)
	// Neither fails before the informer is started.
	_ = informer.SetTransform(withoutManagedFields)
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }, DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			seen(obj)
		},
	})
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), s.opts.Logger))
	s.running.Go(func() { informer.RunWithContext(ctx) })
	return &Watched{Informer: informer, Resource: resource, stop: stop}
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(*unstructured.Unstructured); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (s *Sources) read(ctx context.Context, k key) (loop.Result, error) {
	of := s.kinds[k.kind]
	if k.definition {
		return loop.Result{}, s.readDefinition(ctx, of)
	}
	return of.Read(of.list())
}

// readDefinition starts to watch a kind when the API serves it, and ends it when it no longer does.
func (s *Sources) readDefinition(ctx context.Context, of *source) error {
	var resource schema.GroupVersionResource
	serves := false
	for _, obj := range of.definition.Informer.GetStore().List() { // it has one object at most
		if o, ok := obj.(*unstructured.Unstructured); ok && o.GetDeletionTimestamp() == nil && IsTrue(o, "Established") {
			resource, serves = of.served(o)
		}
	}
	watching := of.watching()
	if watching != nil && (!serves || watching.Resource != resource) {
		watching.End()
		of.watch(nil)
		s.loop.Add(key{kind: of.Name})
		watching = nil
	}
	if serves && watching == nil {
		// The kind is served only some time after its definition is established: the key is retried.
		if _, err := s.opts.Client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("listing objects of the kind %s: %w", of.Name, err)
		}
		of.watch(s.Watch(resource, "", func(any) { s.loop.Add(key{kind: of.Name}) }))
	}
	return nil
}

// IsTrue reports whether an object has a condition that is true.
func IsTrue(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == kind && condition["status"] == "True"
	})
}

// list returns the objects of a kind that are not being deleted, sorted.
func (s *source) list() []*unstructured.Unstructured {
	w := s.watching()
	if w == nil {
		return nil
	}
	var all []*unstructured.Unstructured
	for _, obj := range w.Informer.GetStore().List() {
		if o, ok := obj.(*unstructured.Unstructured); ok && o.GetDeletionTimestamp() == nil {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Report says what is wrong with an object, by a log entry and an event, once for each version of it.
// name is namespace/name, or the name alone.
func (s *Sources) Report(kind, name string, err error) {
	var o *unstructured.Unstructured
	if w := s.kinds[kind].watching(); w != nil {
		if obj, exists, _ := w.Informer.GetStore().GetByKey(name); exists {
			o, _ = obj.(*unstructured.Unstructured)
		}
	}
	version := ""
	if o != nil {
		version = o.GetResourceVersion()
	}
	s.mu.Lock()
	last, known := s.reported[reference{kind, name}]
	s.reported[reference{kind, name}] = version
	s.mu.Unlock()
	if known && last == version {
		return
	}
	s.opts.Logger.Error(err, "An object has no effect", "kind", kind, "name", name)
	if o == nil || s.opts.Recorder == nil {
		return
	}
	ref := &corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: version,
	}
	s.opts.Recorder.Event(ref, corev1.EventTypeWarning, "Invalid"+kind, shortened(err.Error()))
}

// shortened returns a text that fits into an event.
func shortened(text string) string {
	const most = 1000
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
