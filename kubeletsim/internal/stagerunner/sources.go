package stagerunner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/kubeletsim/internal/kwokwatch"
)

// unknownKindDelay is the delay after which discovery is read again for a kind that the API does
// not serve yet.
const unknownKindDelay = 30 * time.Second

// readStages makes the Stages of the API take effect.
func (r *Runner) readStages(objects []*unstructured.Unstructured) (loop.Result, error) {
	set := stages.NewSet(r.parsed.Of(objects, r.sources.Report))
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
		w := r.sources.Watch(resource, "", func(obj any) { r.enqueue(kind, obj) })
		r.mu.Lock()
		r.kinds[kind] = w
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, w := range r.kinds {
		if !set.Has(kind) {
			w.End()
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
	kinds := map[schema.GroupVersionKind]*kwokwatch.Watched{}
	for kind, w := range r.kinds {
		kinds[kind] = w
	}
	r.mu.Unlock()
	for kind, w := range kinds {
		for _, obj := range w.Informer.GetStore().List() {
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

// report says what is wrong with a Stage.
func (r *Runner) report(stage string, err error) { r.sources.Report(stages.Kind, stage, err) }
