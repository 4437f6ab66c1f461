package apiserver

import (
	"context"
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
	"minikcm.dev/minikcm/store"
)

// newAdmission assembles the plugins in the order of the table.
func (s *Server) newAdmission() (admission.Chain, error) {
	opts := s.opts.Admission
	if err := opts.Check(); err != nil {
		return admission.Chain{}, err
	}
	configs, err := opts.readConfig()
	if err != nil {
		return admission.Chain{}, err
	}
	plugins := []any{forbidCreate{s}, admission.CertificateRequester{}}
	for _, row := range AdmissionPlugins() {
		if row.build == nil || !opts.enables(row) {
			continue
		}
		plugin, err := row.build(s, configs[row.Name])
		if err != nil {
			return admission.Chain{}, fmt.Errorf("configuring the admission plugin %s: %w", row.Name, err)
		}
		plugins = append(plugins, plugin)
	}
	return admission.NewChain(append(plugins, s.escalation())...), nil
}

// storedIn returns a namespace's objects of a kind from the store.
func storedIn[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace string) ([]T, error) {
	_, stored, err := objects.ListAt(ctx, objects.Prefix(namespace), store.ListOptions{})
	if err != nil {
		return nil, storage.Translate(err, schema.GroupResource{}, "")
	}
	return ofType[T](stored), nil
}

// ofType returns the objects of one type.
func ofType[T runtime.Object](objects []runtime.Object) []T {
	found := make([]T, 0, len(objects))
	for _, obj := range objects {
		if typed, ok := obj.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// inNamespace returns a namespace's objects of a kind, including all writes of this
// process.
func inNamespace[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace string) ([]T, error) {
	known, err := objects.KnownIn(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return ofType[T](known), nil
}

// lookup returns an object from the cache, or from the store if the cache does not have
// it (yet).
func lookup[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace, name string) (T, error) {
	if known, err := objects.Known(ctx, objects.Key(namespace, name)); err == nil {
		if obj, ok := known.(T); ok {
			return obj, nil
		}
	}
	return stored[T](ctx, objects, namespace, name)
}

// stored returns an object from the store, or a NotFound error.
func stored[T runtime.Object](ctx context.Context, objects *storage.Objects, namespace, name string) (T, error) {
	var none T
	obj, err := objects.Get(ctx, objects.Key(namespace, name), name)
	if err != nil {
		return none, err
	}
	typed, ok := obj.(T)
	if !ok {
		return none, apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	return typed, nil
}

// defaultClass returns the priority class that is the global default, or nil.
func defaultClass(ctx context.Context, objects *storage.Objects) (*schedulingv1.PriorityClass, error) {
	list, err := objects.Cache().List(ctx, watchcache.ListOptions{
		Prefix: objects.Prefix(""), Match: watchcache.Any, Label: labels.Everything(), Field: fields.Everything(),
	})
	if err != nil {
		return nil, err
	}
	var found *schedulingv1.PriorityClass
	for _, entry := range list.Entries {
		class, ok := entry.Object.(*schedulingv1.PriorityClass)
		if ok && class.GlobalDefault && (found == nil || class.Value < found.Value) {
			found = class
		}
	}
	return found, nil
}
