package apiserver

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/reasons"
)

// events is the resource under which Events are stored, including the Events of events.k8s.io.
var events = corev1.SchemeGroupVersion.WithResource("events")

// CachedObject is an object in a watch cache, with its kind and the plural name of its resource.
type CachedObject struct {
	Kind     schema.GroupVersionKind
	Resource string
	// Object is shared and must not be changed.
	Object runtime.Object
}

// CachedObjects yields the objects of a namespace in the watch caches, or of all namespaces if it
// is empty, and all cluster-scoped objects, except Events. It never waits, neither for the
// store nor for the clock: it omits kinds that have not been listed or watched yet. (The
// garbage collector watches all kinds.)
func (s *Server) CachedObjects(namespace string) iter.Seq[CachedObject] {
	return func(yield func(CachedObject) bool) {
		for row, objects := range s.current().Stored(s.stored) {
			if row.GVR() == events {
				continue
			}
			prefix := objects.Prefix("")
			if row.Namespaced {
				prefix = objects.Prefix(namespace)
			}
			entries, _ := objects.Cache().Peek(prefix)
			for _, e := range entries {
				if !yield(CachedObject{row.GroupVersionKind, row.Plural, e.Object()}) {
					return
				}
			}
		}
	}
}

// CachedObjectsOf yields the objects of a built-in resource of all namespaces in its watch cache. It never
// waits.
func (s *Server) CachedObjectsOf(resource schema.GroupVersionResource) iter.Seq[runtime.Object] {
	return func(yield func(runtime.Object) bool) {
		objects := s.stored[resource]
		if objects == nil {
			return
		}
		entries, _ := objects.Cache().Peek(objects.Prefix(""))
		for _, e := range entries {
			if !yield(e.Object()) {
				return
			}
		}
	}
}

// Find returns the newest state of an object. The kind is given by its plural name or its
// Kind, whichever is not empty; an empty group matches any. It returns a NotFound error if
// there is no such object.
func (s *Server) Find(ctx context.Context, group, resource, kind, namespace, name string) (schema.GroupVersionKind, runtime.Object, error) {
	for row, objects := range s.current().Stored(s.stored) {
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

// EventsIn returns the Events of a namespace, or of all namespaces if it is empty. They
// are not older than any write of this process.
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

// reading counts a read outside a resource request as a request in flight, which pauses
// where a request would.
func (s *Server) reading(ctx context.Context) (_ context.Context, done func()) {
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	ctx, cancel := context.WithTimeout(ctx, request.MaxDuration)
	if waits := s.opts.StoreWaits; waits != nil && waits() {
		ctx = s.withPause(ctx, work)
	}
	return ctx, func() {
		cancel()
		work.End()
	}
}
