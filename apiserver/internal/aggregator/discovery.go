package aggregator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/handler3"

	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/openapi"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
)

// Remote returns the versions that discovery shows now; nil if there are none.
func (a *Aggregator) Remote() *discovery.Remote { return a.remote.Load() }

// discover reads the documents of an available server.
func (a *Aggregator) discover(ctx context.Context, b *backend) {
	v := versionOf(b)
	v.Discovery.Freshness = apidiscovery.DiscoveryFreshnessCurrent
	resources, err := a.resourcesOf(ctx, b)
	if err != nil {
		a.opts.Logger.V(1).Info("Reading the resources of an aggregated server", "apiService", b.service.Name, "err", err)
		v.Discovery.Freshness = apidiscovery.DiscoveryFreshnessStale
	}
	v.Discovery.Resources = resources
	v.OpenAPI = a.openAPIOf(ctx, b)
	v.OpenAPIV2 = a.openAPIV2Of(ctx, b)
	a.publish(v)
}

// stale marks the resources of a server that is not available.
func (a *Aggregator) stale(b *backend) {
	v := versionOf(b)
	if known := a.published(v.Name); known != nil {
		v.Discovery.Resources, v.OpenAPIV2 = known.Discovery.Resources, known.OpenAPIV2
	}
	v.Discovery.Freshness = apidiscovery.DiscoveryFreshnessStale
	a.publish(v)
}

func versionOf(b *backend) discovery.RemoteVersion {
	spec := &b.service.Spec
	return discovery.RemoteVersion{
		GroupVersion: b.gv(), GroupPriority: spec.GroupPriorityMinimum, VersionPriority: spec.VersionPriority, Name: b.service.Name,
		Discovery: apidiscovery.APIVersionDiscovery{Version: spec.Version},
	}
}

// publish adds or replaces a version.
func (a *Aggregator) publish(v discovery.RemoteVersion) {
	a.change(func(all []discovery.RemoteVersion) []discovery.RemoteVersion {
		all = append(without(all, v.Name), v)
		slices.SortFunc(all, func(x, y discovery.RemoteVersion) int {
			switch {
			case x.GroupPriority != y.GroupPriority:
				return int(y.GroupPriority - x.GroupPriority)
			case x.Group != y.Group:
				return strings.Compare(x.Group, y.Group)
			case x.VersionPriority != y.VersionPriority:
				return int(y.VersionPriority - x.VersionPriority)
			}
			return strings.Compare(x.Version, y.Version)
		})
		return all
	})
}

// forget removes the version of an APIService.
func (a *Aggregator) forget(name string) {
	a.change(func(all []discovery.RemoteVersion) []discovery.RemoteVersion { return without(all, name) })
}

// shows reports whether discovery shows the version of an APIService.
func (a *Aggregator) shows(name string) bool { return a.published(name) != nil }

// published returns the version of an APIService as discovery shows it; nil: discovery does not show it.
func (a *Aggregator) published(name string) *discovery.RemoteVersion {
	known := a.remote.Load()
	if known == nil {
		return nil
	}
	i := slices.IndexFunc(known.Versions, func(v discovery.RemoteVersion) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &known.Versions[i]
}

func without(all []discovery.RemoteVersion, name string) []discovery.RemoteVersion {
	return slices.DeleteFunc(all, func(v discovery.RemoteVersion) bool { return v.Name == name })
}

func (a *Aggregator) change(alter func([]discovery.RemoteVersion) []discovery.RemoteVersion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []discovery.RemoteVersion
	if known := a.remote.Load(); known != nil {
		all = slices.Clone(known.Versions)
	}
	if all = alter(all); len(all) == 0 {
		a.remote.Store(nil)
		return
	}
	a.remote.Store(&discovery.Remote{Versions: all})
}

// resourcesOf reads the resources of a server's version, from the aggregated document if it
// has one.
func (a *Aggregator) resourcesOf(ctx context.Context, b *backend) ([]apidiscovery.APIResourceDiscovery, error) {
	gv := b.gv()
	if answer, err := a.get(ctx, b, "/apis", clientdiscovery.AcceptV2); err == nil && answer.code == http.StatusOK && strings.Contains(answer.contentType, "as=APIGroupDiscoveryList") {
		var list apidiscovery.APIGroupDiscoveryList
		if err := json.Unmarshal(answer.body, &list); err == nil {
			for i := range list.Items {
				for _, v := range list.Items[i].Versions {
					if list.Items[i].Name == gv.Group && v.Version == gv.Version {
						return v.Resources, nil
					}
				}
			}
		}
	}
	answer, err := a.get(ctx, b, versionPath(gv), "application/json")
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return nil, err
	}
	return aggregated(gv, &list), nil
}

// aggregated converts a version's document to the form in aggregated discovery (KEP-3352).
func aggregated(gv schema.GroupVersion, list *metav1.APIResourceList) []apidiscovery.APIResourceDiscovery {
	var all []apidiscovery.APIResourceDiscovery
	kindOf := func(r *metav1.APIResource) *metav1.GroupVersionKind {
		kind := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if kind.Group == "" && kind.Version == "" {
			kind.Group, kind.Version = gv.Group, gv.Version
		}
		return kind
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if strings.Contains(r.Name, "/") {
			continue
		}
		scope := apidiscovery.ScopeCluster
		if r.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		all = append(all, apidiscovery.APIResourceDiscovery{
			Resource: r.Name, SingularResource: r.SingularName, Scope: scope, ResponseKind: kindOf(r),
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		main, sub, ok := strings.Cut(r.Name, "/")
		parent := slices.IndexFunc(all, func(d apidiscovery.APIResourceDiscovery) bool { return d.Resource == main })
		if ok && parent >= 0 {
			all[parent].Subresources = append(all[parent].Subresources, apidiscovery.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: kindOf(r), Verbs: r.Verbs,
			})
		}
	}
	return all
}

// openAPIOf returns the relative URL of the server's OpenAPI document of its version, which
// includes a hash of it; empty if it has none.
func (a *Aggregator) openAPIOf(ctx context.Context, b *backend) string {
	answer, err := a.get(ctx, b, strings.TrimSuffix(openAPIPrefix, "/"), "application/json")
	if err != nil || answer.code != http.StatusOK {
		return ""
	}
	var index handler3.OpenAPIV3Discovery
	if json.Unmarshal(answer.body, &index) != nil {
		return ""
	}
	path := strings.TrimPrefix(versionPath(b.gv()), "/")
	at := index.Paths[path].ServerRelativeURL
	if !strings.HasPrefix(at, openAPIPrefix+path) {
		return ""
	}
	return at
}

// openAPIV2Of returns the part of the server's OpenAPI v2 document about its version. If the
// document cannot be read, the last readable one stays.
func (a *Aggregator) openAPIV2Of(ctx context.Context, b *backend) *openapi.Remote {
	var before *openapi.Remote
	if known := a.published(b.service.Name); known != nil {
		before = known.OpenAPIV2
	}
	answer, err := a.get(ctx, b, "/openapi/v2", "application/json")
	switch {
	case err != nil:
	case answer.code == http.StatusNotFound:
		return nil
	case answer.code != http.StatusOK:
		err = fmt.Errorf("the status code is %d", answer.code)
	case before != nil && before.IsOf(answer.body):
		return before
	default:
		var read *openapi.Remote
		if read, err = openapi.ReadRemote(answer.body, b.gv()); err == nil {
			return read
		}
	}
	a.opts.Logger.Info("Reading the OpenAPI v2 document of an aggregated server", "apiService", b.service.Name, "err", err)
	return before
}

// readLimited reads a response up to outbound.MaxAnswerBytes.
func readLimited(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, outbound.MaxAnswerBytes+1))
	if err == nil && len(data) > outbound.MaxAnswerBytes {
		err = errTooLarge
	}
	return data, err
}
