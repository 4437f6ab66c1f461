package hooks

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Params returns the objects of any resource in a namespace (empty: in all), as new as the
// writes of this process.
type Params func(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error)

// paramsTimeout limits a read of parameters, in the machine's time: upstream's listers have
// no context.
const paramsTimeout = 10 * time.Second

// params are the parameters of policies of one kind, as an informer that has synced.
type params struct {
	source    Params
	resource  schema.GroupVersionResource
	namespace string
}

func newParams(source Params, resource schema.GroupVersionResource) informers.GenericInformer {
	return params{source: source, resource: resource}
}

// Informer implements informers.GenericInformer. Only HasSynced of it is called.
func (params) Informer() cache.SharedIndexInformer { return synced{} }

// Lister implements informers.GenericInformer.
func (p params) Lister() cache.GenericLister { return p }

// ByNamespace implements cache.GenericLister.
func (p params) ByNamespace(namespace string) cache.GenericNamespaceLister {
	p.namespace = namespace
	return p
}

// List implements cache.GenericLister.
func (p params) List(selector labels.Selector) ([]runtime.Object, error) {
	return p.find(func(m metaObject) bool { return selector.Matches(labels.Set(m.GetLabels())) })
}

// Get implements cache.GenericLister.
func (p params) Get(name string) (runtime.Object, error) {
	found, err := p.find(func(m metaObject) bool { return m.GetName() == name })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(p.resource.GroupResource(), name)
	}
	return found[0], nil
}

// metaObject has the metadata by which parameters are selected.
type metaObject interface {
	GetName() string
	GetLabels() map[string]string
}

func (p params) find(matches func(metaObject) bool) ([]runtime.Object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), paramsTimeout)
	defer cancel()
	all, err := p.source(ctx, p.resource, p.namespace)
	if err != nil {
		return nil, err
	}
	var found []runtime.Object
	for _, obj := range all {
		if m, err := meta.Accessor(obj); err == nil && matches(m) {
			found = append(found, obj)
		}
	}
	return found, nil
}
