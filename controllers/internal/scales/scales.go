package scales

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
)

// Client reads and writes scales.
type Client struct {
	scale.ScalesGetter
	// Mapper caches the kinds from its first use or its last reset.
	Mapper meta.ResettableRESTMapper
	known  discovery.DiscoveryInterface
}

// New returns a client that reads discovery when it is first used.
func New(config *rest.Config) (*Client, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client: %w", err)
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	getter, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(cached))
	if err != nil {
		return nil, fmt.Errorf("making the scale client: %w", err)
	}
	return &Client{ScalesGetter: getter, Mapper: mapper, known: cached}, nil
}

// Has reports whether the objects of a resource have a scale.
func (c *Client) Has(resource schema.GroupVersionResource) (bool, error) {
	list, err := c.known.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return false, fmt.Errorf("discovering the resources of %s: %w", resource.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == resource.Resource+"/scale" && r.Kind == "Scale"
	}), nil
}

// Mappings finds the resources of a kind, in the given versions or in all if there are
// none. It reads discovery again for an unknown kind, which may have been defined since, so
// that a NoMatch error reflects the present state of the API.
func (c *Client) Mappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	mappings, err := c.Mapper.RESTMappings(kind, versions...)
	if meta.IsNoMatchError(err) {
		c.Mapper.Reset()
		mappings, err = c.Mapper.RESTMappings(kind, versions...)
	}
	return mappings, err
}
