package discovery

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/gorilla/mux"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
)

// Discovery serves the groups, versions and resources, as separate documents and
// aggregated (KEP-3352).
type Discovery struct {
	table      func() *resources.Table
	remote     func() *Remote
	priority   func(group string, custom bool) int32
	aggregates aggregates
}

// Options configure New. All fields are required.
type Options struct {
	// Table returns the kinds that this server serves now.
	Table func() *resources.Table
	// Remote returns the versions that other servers serve; nil: none.
	Remote func() *Remote
	// Priority returns the priority of a group of this server, which may be of custom kinds.
	Priority func(group string, custom bool) int32
}

// New returns the discovery of this server and others.
func New(opts Options) *Discovery {
	return &Discovery{table: opts.Table, remote: opts.Remote, priority: opts.Priority}
}

var aggregatedKind = apidiscovery.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")

// Route adds the paths of discovery to router.
func (d *Discovery) Route(router *mux.Router) {
	for _, slash := range []string{"", "/"} {
		router.HandleFunc("/api"+slash, response.Produces(codec.Supported(), d.serveCore))
		router.HandleFunc("/apis"+slash, d.serveGroups)
		router.HandleFunc("/api/{version}"+slash, response.Produces(codec.Supported(), d.serveVersion))
		router.HandleFunc("/apis/{group}"+slash, d.serveGroup)
		router.HandleFunc("/apis/{group}/{version}"+slash, response.Produces(codec.Supported(), d.serveVersion))
	}
}

// serveCore answers GET /api.
func (d *Discovery) serveCore(w http.ResponseWriter, r *http.Request) {
	d.serveEither(w, r, func() runtime.Object {
		return &metav1.APIVersions{
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
		}
	}, true)
}

// serveGroups answers GET /apis.
func (d *Discovery) serveGroups(w http.ResponseWriter, r *http.Request) {
	d.serveEither(w, r, func() runtime.Object {
		list := &metav1.APIGroupList{}
		for _, g := range d.groups(d.table(), d.remote()) {
			if g.name != "" {
				list.Groups = append(list.Groups, apiGroup(&g))
			}
		}
		return list
	}, false)
}

// serveEither serves the plain or the aggregated form, whichever the client accepts.
func (d *Discovery) serveEither(w http.ResponseWriter, r *http.Request, plain func() runtime.Object, core bool) {
	target, ok := codec.Negotiate(r.Header.Get("Accept"), func(as schema.GroupVersionKind) bool { return as == aggregatedKind })
	if !ok {
		response.Error(w, r, response.NotAcceptable())
		return
	}
	if target.As != aggregatedKind {
		ServeDocument(w, r, target.Media, plain())
		return
	}
	w.Header().Add("Vary", "Accept")
	document, err := d.aggregated(core, target.Media)
	if err != nil {
		response.Error(w, r, response.EncodeError(err))
		return
	}
	w.Header().Set("ETag", document.etag)
	w.Header().Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == document.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	contentType := target.Media.ContentType() + ";g=" + aggregatedKind.Group + ";v=" + aggregatedKind.Version + ";as=" + aggregatedKind.Kind
	response.Bytes(w, r, http.StatusOK, contentType, document.data)
}

// serveGroup answers any method on /apis/GROUP, as upstream.
func (d *Discovery) serveGroup(w http.ResponseWriter, r *http.Request) {
	name := mux.Vars(r)["group"]
	groups := d.groups(d.table(), d.remote())
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
	if i < 0 || name == "" {
		response.NoRoute(w)
		return
	}
	found := apiGroup(&groups[i])
	d.servePlain(w, r, &found)
}

// serveVersion answers GET /api/VERSION and /apis/GROUP/VERSION.
func (d *Discovery) serveVersion(w http.ResponseWriter, r *http.Request) {
	vars := mux.Vars(r)
	gv := schema.GroupVersion{Group: vars["group"], Version: vars["version"]}
	rows := d.table().InVersion(gv)
	if len(rows) == 0 {
		if slices.ContainsFunc(d.table().Groups(), func(g resources.Group) bool { return g.Name == gv.Group }) {
			response.Error(w, r, response.NotFound())
			return
		}
		response.NoRoute(w)
		return
	}
	list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, row := range rows {
		list.APIResources = append(list.APIResources, apiResources(row)...)
	}
	if !rows[0].Custom { // subresources of custom kinds are in another order
		sort.SliceStable(list.APIResources, func(i, j int) bool { return list.APIResources[i].Name < list.APIResources[j].Name })
	}
	d.servePlain(w, r, list)
}

func (d *Discovery) servePlain(w http.ResponseWriter, r *http.Request, obj runtime.Object) {
	target, ok := codec.Negotiate(r.Header.Get("Accept"), nil)
	if !ok {
		response.Error(w, r, response.NotAcceptable())
		return
	}
	ServeDocument(w, r, target.Media, obj)
}

// ServeDocument sends an object of meta/v1.
func ServeDocument(w http.ResponseWriter, r *http.Request, media codec.Media, obj runtime.Object) {
	// As upstream, the older documents of the core group have no version.
	version, kind := "v1", ""
	switch obj := obj.(type) {
	case *metav1.APIVersions:
		version, kind = "", "APIVersions"
	case *metav1.APIGroupList:
		kind = "APIGroupList"
	case *metav1.APIGroup:
		kind = "APIGroup"
	case *metav1.APIResourceList:
		kind = "APIResourceList"
		if obj.GroupVersion == "v1" {
			version = ""
		}
	}
	data, err := codec.Encode(media, schema.GroupVersionKind{Version: version, Kind: kind}, obj)
	if err != nil {
		response.Error(w, r, response.EncodeError(err))
		return
	}
	response.Bytes(w, r, http.StatusOK, media.ContentType(), response.Pretty(r, media, data))
}

func apiGroup(g *group) metav1.APIGroup {
	found := metav1.APIGroup{Name: g.name}
	add := func(version string) {
		gv := schema.GroupVersion{Group: g.name, Version: version}
		found.Versions = append(found.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: version})
	}
	for _, version := range g.local {
		add(version)
	}
	for _, v := range g.remote {
		add(v.Version)
	}
	found.PreferredVersion = found.Versions[0]
	return found
}

// apiResources returns the entries of a row and its subresources.
func apiResources(row *resources.Resource) []metav1.APIResource {
	entries := []metav1.APIResource{{
		Name: row.Plural, SingularName: row.Singular, Namespaced: row.Namespaced, Kind: row.Kind,
		Verbs: row.Verbs, ShortNames: row.ShortNames, Categories: row.Categories, StorageVersionHash: storageVersionHash(row),
	}}
	for _, sub := range row.Subresources {
		entry := metav1.APIResource{
			Name: row.Plural + "/" + sub.Name, Namespaced: row.Namespaced, Kind: subresourceKind(row, &sub).Kind, Verbs: sub.Verbs,
		}
		if kind := subresourceKind(row, &sub); kind.GroupVersion() != row.GroupVersion() {
			entry.Group, entry.Version = kind.Group, kind.Version
		}
		entries = append(entries, entry)
	}
	return entries
}

func subresourceKind(row *resources.Resource, sub *resources.Subresource) schema.GroupVersionKind {
	if sub.Kind == "" {
		return row.GroupVersionKind
	}
	return sub.GroupVersionKind
}

// storageVersionHash returns a hash that identifies the stored version; clients only
// compare it (API docs of APIResource).
func storageVersionHash(row *resources.Resource) string {
	if !row.IsStored() {
		return ""
	}
	kind := row.GroupVersionKind
	if row.StoredVersion != "" {
		kind.Version = row.StoredVersion
	}
	if row.Storage != nil {
		kind = row.Storage.Resource.GroupVersion().WithKind(row.Kind)
	}
	sum := sha256.Sum256([]byte(kind.Group + "/" + kind.Version + "/" + kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

func aggregate(table *resources.Table, g *group) apidiscovery.APIGroupDiscovery {
	found := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, name := range g.local {
		version := apidiscovery.APIVersionDiscovery{Version: name, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		for _, row := range table.InVersion(schema.GroupVersion{Group: g.name, Version: name}) {
			version.Resources = append(version.Resources, aggregatedResource(row))
		}
		found.Versions = append(found.Versions, version)
	}
	for _, v := range g.remote {
		found.Versions = append(found.Versions, v.Discovery)
	}
	return found
}

func aggregatedResource(row *resources.Resource) apidiscovery.APIResourceDiscovery {
	scope := apidiscovery.ScopeCluster
	if row.Namespaced {
		scope = apidiscovery.ScopeNamespace
	}
	resource := apidiscovery.APIResourceDiscovery{
		Resource: row.Plural, SingularResource: row.Singular, Scope: scope, ResponseKind: responseKind(row, row.GroupVersionKind),
		Verbs: row.Verbs, ShortNames: row.ShortNames, Categories: row.Categories,
	}
	for _, sub := range row.Subresources {
		resource.Subresources = append(resource.Subresources, apidiscovery.APISubresourceDiscovery{
			Subresource: sub.Name, ResponseKind: responseKind(row, subresourceKind(row, &sub)), Verbs: sub.Verbs,
		})
	}
	slices.SortFunc(resource.Subresources, func(a, b apidiscovery.APISubresourceDiscovery) int {
		return strings.Compare(a.Subresource, b.Subresource)
	})
	return resource
}

// responseKind returns a kind with its group and version, except where they are the row's. Custom
// kinds always have them.
func responseKind(row *resources.Resource, kind schema.GroupVersionKind) *metav1.GroupVersionKind {
	if kind.GroupVersion() == row.GroupVersion() && !row.Custom {
		return &metav1.GroupVersionKind{Kind: kind.Kind}
	}
	return &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
}
