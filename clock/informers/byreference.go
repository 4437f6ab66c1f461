package informers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/internal/reference"
)

// ByReference lets a server in the same process pass its own decoded objects to the informers
// of NewForConfig. Other servers send encoded objects, as always. Handlers, transforms and readers of
// listers must not modify the objects: all informers share them, and their content is the server's.
// They have no managed fields, as by WithoutManagedFields.
func ByReference() Option { return func(o *options) { o.byReference = true } }

// referrer makes informers whose watches accept references.
type referrer struct {
	config *rest.Config
	client *http.Client
}

func newReferrer(config *rest.Config) (*referrer, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the informers' client: %w", err)
	}
	return &referrer{config: config, client: client}, nil
}

// informer returns an informer of the type of obj, as client-go's generated constructors do.
func (r *referrer) informer(f *Factory, obj runtime.Object) (cache.SharedIndexInformer, *reference.Table, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the kind of %T: %w", obj, err)
	}
	var table reference.Table
	client, err := r.restClient(kinds[0].GroupVersion(), &table)
	if err != nil {
		return nil, nil, err
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	lw := &listWatch{
		client: client, table: &table, namespace: f.namespace, resource: plural.Resource, tweak: f.tweak,
		list: kinds[0].GroupVersion().WithKind(kinds[0].Kind + "List"),
	}
	return cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: lw.List, WatchFuncWithContext: lw.Watch}, client),
		obj, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}}), &table, nil
}

func (r *referrer) restClient(gv schema.GroupVersion, table *reference.Table) (rest.Interface, error) {
	config := rest.CopyConfig(r.config)
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = table.Serializer(rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion())
	client, err := rest.RESTClientForConfigAndClient(config, r.client)
	if err != nil {
		return nil, fmt.Errorf("making the informers' client of %s: %w", gv, err)
	}
	return client, nil
}

// listWatch makes the requests of one informer.
type listWatch struct {
	client    rest.Interface
	table     *reference.Table
	namespace string
	resource  string
	list      schema.GroupVersionKind
	tweak     func(*ListOptions)
}

func (lw *listWatch) request(opts *ListOptions) *rest.Request {
	if lw.tweak != nil {
		lw.tweak(opts)
	}
	request := lw.client.Get().NamespaceIfScoped(lw.namespace, lw.namespace != "").Resource(lw.resource).VersionedParams(opts, scheme.ParameterCodec)
	if opts.TimeoutSeconds != nil {
		request.Timeout(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	return request
}

// List reads the objects.
func (lw *listWatch) List(ctx context.Context, opts ListOptions) (runtime.Object, error) {
	list, err := scheme.Scheme.New(lw.list)
	if err != nil {
		return nil, err
	}
	return list, lw.request(&opts).Do(ctx).Into(list)
}

// Watch watches them. The reflector calls it again only after the end of the watch before.
func (lw *listWatch) Watch(ctx context.Context, opts ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return lw.request(&opts).Watch(reference.WithStream(ctx, lw.table.Begin()))
}
