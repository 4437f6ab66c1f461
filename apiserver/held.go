package apiserver

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/reasons"
)

// events is where Events are stored, those of events.k8s.io too.
var events = corev1.SchemeGroupVersion.WithResource("events")

// Held is an object in a watch cache, with its kind and the plural name of its resource.
type Held struct {
	Kind     schema.GroupVersionKind
	Resource string
	// Object is shared and must not be changed.
	Object runtime.Object
}

// Held yields what the watch caches hold of a namespace, or of all if it is empty, and all
// objects that are in none, but no Events. It never waits, neither for the store nor for
// the clock: a kind that nothing has listed or watched yet is left out. Garbage collection
// watches all kinds.
func (s *Server) Held(namespace string) iter.Seq[Held] {
	return func(yield func(Held) bool) {
		for row, objects := range s.current().stored(s.stored) {
			if row.GVR() == events {
				continue
			}
			prefix := objects.Prefix("")
			if row.Namespaced {
				prefix = objects.Prefix(namespace)
			}
			entries, _ := objects.Cache().Peek(prefix)
			for _, e := range entries {
				if !yield(Held{row.GroupVersionKind, row.Plural, e.Object}) {
					return
				}
			}
		}
	}
}

// stored yields the rows under which objects are stored, one a kind, with the objects.
func (now *surface) stored(builtIn map[schema.GroupVersionResource]*storage.Objects) iter.Seq2[*resources.Resource, *storage.Objects] {
	return func(yield func(*resources.Resource, *storage.Objects) bool) {
		for _, row := range now.table.All() {
			objects := builtIn[row.GVR()]
			if kind := now.custom[row]; kind != nil && row == kind.rows.Served[0] {
				row, objects = kind.rows.Stored, kind.objects
			}
			if objects != nil && !yield(row, objects) {
				return
			}
		}
	}
}

// Find returns the newest state of an object of a kind that is given by its plural name or
// its Kind, whichever is not empty; an empty group is any. It is a NotFound error if there
// is none.
func (s *Server) Find(ctx context.Context, group, resource, kind, namespace, name string) (schema.GroupVersionKind, runtime.Object, error) {
	for row, objects := range s.current().stored(s.stored) {
		named := resource != "" && row.Plural == resource || resource == "" && row.Kind == kind
		if !named || group != "" && row.Group != group || row.Namespaced != (namespace != "") {
			continue
		}
		ctx, done := s.reading(ctx)
		obj, err := objects.Get(ctx, objects.Key(namespace, name), name)
		done()
		if err == nil || !apierrors.IsNotFound(err) {
			return row.GroupVersionKind, obj, err
		}
	}
	if resource == "" {
		resource = kind
	}
	return schema.GroupVersionKind{}, nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

// EventsIn returns the Events of a namespace, or of all if it is empty: not older than
// anything that this process has written.
func (s *Server) EventsIn(ctx context.Context, namespace string) ([]reasons.Event, error) {
	ctx, done := s.reading(ctx)
	defer done()
	found, err := s.stored[events].KnownIn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	all := make([]reasons.Event, 0, len(found))
	for _, obj := range found {
		e, ok := obj.(*corev1.Event)
		if !ok {
			continue
		}
		revision, err := storage.ParseRevision(e.ResourceVersion)
		if err != nil {
			return nil, err
		}
		all = append(all, reasons.EventOf(e, revision))
	}
	return all, nil
}

// reading counts what is read outside a resource's request as a request in flight, which
// lets time pass where a request does.
func (s *Server) reading(ctx context.Context) (_ context.Context, done func()) {
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	if waits := s.opts.StoreWaits; waits != nil && waits() {
		ctx = s.withPause(ctx, work)
	}
	return ctx, func() {
		cancel()
		work.End()
	}
}
