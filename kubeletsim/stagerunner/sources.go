package stagerunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/kubeletsim/stages"
)

// The keys of the loop that reads the Stages.
const (
	readDefinition = "definition"
	readStages     = "stages"
)

const definitionName = stages.Resource + "." + stages.Group

var (
	definitions    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	stageResources = schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: stages.Resource}
)

// maxStages caps the Stages that have effect.
const maxStages = 1000

// unknownKindDelay is the delay after which discovery is read again for a kind that the API does
// not serve yet.
const unknownKindDelay = 30 * time.Second

// watched is an informer of one resource.
type watched struct {
	informer cache.SharedIndexInformer
	resource schema.GroupVersionResource
	stop     context.CancelFunc
}

func (w *watched) end() {
	if w != nil {
		w.stop()
	}
}

// watch starts an informer, which calls seen for each object that changes.
func (r *Runner) watch(resource schema.GroupVersionResource, selector string, seen func(obj any)) *watched {
	inner := dynamicinformer.NewFilteredDynamicInformer(r.client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = selector
	}).Informer()
	informer := informers.Counted(inner, r.opts.Ledger)
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
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), r.opts.Logger))
	r.running.Go(func() { informer.RunWithContext(ctx) })
	return &watched{informer: informer, resource: resource, stop: stop}
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(*unstructured.Unstructured); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (r *Runner) read(ctx context.Context, what string) (loop.Result, error) {
	if what == readDefinition {
		return loop.Result{}, r.readDefinition(ctx)
	}
	return r.readStages()
}

// readDefinition starts to watch Stages when the API serves them, and ends it when it no longer
// does.
func (r *Runner) readDefinition(ctx context.Context) error {
	serves := slices.ContainsFunc(r.definitions.informer.GetStore().List(), established)
	watching := r.stages.Load()
	switch {
	case serves && watching == nil:
		// The kind is served only some time after its definition is established: the loop retries.
		if _, err := r.client.Resource(stageResources).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("listing Stages: %w", err)
		}
		r.stages.Store(r.watch(stageResources, "", func(any) { r.sources.Add(readStages) }))
	case !serves && watching != nil:
		watching.end()
		r.stages.Store(nil)
		r.sources.Add(readStages)
	}
	return nil
}

func established(obj any) bool {
	o, ok := obj.(*unstructured.Unstructured)
	return ok && o.GetDeletionTimestamp() == nil && isTrue(o, "Established")
}

// isTrue reports whether an object has a condition that is true.
func isTrue(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == kind && condition["status"] == "True"
	})
}

// parsed is a Stage of the API; stage is nil if it is invalid.
type parsed struct {
	version string
	stage   *stages.Stage
}

// readStages makes the Stages of the API take effect.
func (r *Runner) readStages() (loop.Result, error) {
	var objects []*unstructured.Unstructured
	if w := r.stages.Load(); w != nil {
		for _, obj := range w.informer.GetStore().List() {
			if o, ok := obj.(*unstructured.Unstructured); ok && o.GetDeletionTimestamp() == nil {
				objects = append(objects, o)
			}
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	known := r.parsed
	r.parsed = map[types.UID]parsed{}
	var valid []*stages.Stage
	for i, o := range objects {
		if i == maxStages {
			r.report(o.GetName(), fmt.Errorf("the cluster has more than %d Stages", maxStages))
			break
		}
		p, ok := known[o.GetUID()]
		if !ok || p.version != o.GetResourceVersion() {
			p = parsed{version: o.GetResourceVersion()}
			var err error
			if p.stage, err = stages.ParseObject(o.Object); err != nil {
				r.report(o.GetName(), err)
			}
		}
		r.parsed[o.GetUID()] = p
		if p.stage != nil {
			valid = append(valid, p.stage)
		}
	}
	set := stages.NewSet(valid)
	r.set.Store(set)
	r.opts.Hosts.SetStages(set)
	complete := r.syncKinds(set)
	r.requeueAll()
	if !complete {
		return loop.Result{RequeueAfter: unknownKindDelay}, nil
	}
	return loop.Result{}, nil
}

// syncKinds starts and stops informers so that they match the kinds of the Stages. It returns
// false if the API does not serve one.
func (r *Runner) syncKinds(set *stages.Set) (complete bool) {
	complete = true
	for _, kind := range set.Kinds() {
		r.mu.Lock()
		known := r.kinds[kind] != nil
		r.mu.Unlock()
		if known {
			continue
		}
		resource, _, err := r.resourceOf(kind)
		if err != nil {
			r.opts.Logger.Error(err, "Stages have no effect yet, will retry", "kind", kind, "after", unknownKindDelay)
			complete = false
			continue
		}
		w := r.watch(resource, "", func(obj any) { r.enqueue(kind, obj) })
		r.mu.Lock()
		r.kinds[kind] = w
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, w := range r.kinds {
		if !set.Has(kind) {
			w.end()
			delete(r.kinds, kind)
		}
	}
	for k := range r.jobs {
		if r.kinds[k.kind] == nil {
			delete(r.jobs, k)
		}
	}
	return complete
}

func (r *Runner) enqueue(kind schema.GroupVersionKind, obj any) {
	if o, ok := obj.(*unstructured.Unstructured); ok {
		k := key{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
		r.objects.Add(k, cause.Of(o)...)
	}
}

// requeueAll makes all objects choose again.
func (r *Runner) requeueAll() {
	r.mu.Lock()
	kinds := map[schema.GroupVersionKind]*watched{}
	for kind, w := range r.kinds {
		kinds[kind] = w
	}
	r.mu.Unlock()
	for kind, w := range kinds {
		for _, obj := range w.informer.GetStore().List() {
			r.enqueue(kind, obj)
		}
	}
}

var errNotServed = errors.New("the API does not serve it")

// resourceOf returns the resource of a kind.
func (r *Runner) resourceOf(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced bool, err error) {
	list, err := r.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return resource, false, fmt.Errorf("looking for the kind %s: %w", kind, err)
	}
	if err == nil {
		for _, served := range list.APIResources {
			if served.Kind == kind.Kind && (served.Group == "" || served.Group == kind.Group) && !slices.Contains([]byte(served.Name), '/') {
				return kind.GroupVersion().WithResource(served.Name), served.Namespaced, nil
			}
		}
	}
	return resource, false, fmt.Errorf("looking for the kind %s: %w", kind, errNotServed)
}

// report says what is wrong with a Stage, by a log entry and an event, once for each version of
// it.
func (r *Runner) report(stage string, err error) {
	var o *unstructured.Unstructured
	if w := r.stages.Load(); w != nil {
		if obj, exists, _ := w.informer.GetStore().GetByKey(stage); exists {
			o, _ = obj.(*unstructured.Unstructured)
		}
	}
	version := ""
	if o != nil {
		version = o.GetResourceVersion()
	}
	r.mu.Lock()
	last, known := r.reported[stage]
	r.reported[stage] = version
	r.mu.Unlock()
	if known && last == version {
		return
	}
	r.opts.Logger.Error(err, "A Stage fails", "stage", stage)
	if o == nil || r.opts.Recorder == nil {
		return
	}
	ref := &corev1.ObjectReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: stage, UID: o.GetUID(), ResourceVersion: version}
	r.opts.Recorder.Event(ref, corev1.EventTypeWarning, "InvalidStage", shortened(err.Error()))
}

// shortened returns a text that fits into an event.
func shortened(text string) string {
	const most = 1000
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
