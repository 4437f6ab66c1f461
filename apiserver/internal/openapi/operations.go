package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Media types: of objects in three encodings, of watches in two, of patches in four.
var (
	anything   = []string{"*/*"}
	objects    = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
	lists      = append(slices.Clone(objects), "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	patchTypes = []string{
		"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml",
	}
)

// operations builds the routes of one row.
type operations struct {
	row *resources.Resource
	// base is the path of the group and version; scope is "Namespaced" or empty.
	base, scope string
	all         routes
}

// routesOf returns every operation on the row's resource and its subresources.
func routesOf(row *resources.Resource) routes {
	o := &operations{row: row, base: basePath(row.GroupVersion())}
	collection := o.base + "/" + row.Plural
	var parameters []common.Parameter
	if row.Namespaced {
		o.scope = "Namespaced"
		collection = o.base + "/namespaces/{namespace}/" + row.Plural
		parameters = append(parameters, pathParameter("namespace", "The namespace of the object."))
		if o.allows("list") {
			o.list(o.base+"/"+row.Plural, "list"+o.prefix()+row.Kind+"ForAllNamespaces", nil)
		}
		o.watch("/"+row.Plural, o.prefix()+row.Kind+"ListForAllNamespaces", watchList, nil)
	}
	o.addCollection(collection, parameters)
	named := append(slices.Clone(parameters), pathParameter("name", "The name of the "+row.Kind+"."))
	o.addNamed(collection+"/{name}", named)
	name := o.prefix() + o.scope + row.Kind
	o.watch(strings.TrimPrefix(collection, o.base), name+"List", watchList, parameters)
	o.watch(strings.TrimPrefix(collection, o.base)+"/{name}", name, "watch", named)
	for i := range row.Subresources {
		o.addSubresource(collection+"/{name}/"+row.Subresources[i].Name, &row.Subresources[i], named)
	}
	return o.all
}

func basePath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// patchTypes returns the patch types that kubectl chooses from. Custom objects have no
// strategic merge patch, which needs a Go type.
func (o *operations) patchTypes() []string {
	if o.row.Custom {
		return slices.DeleteFunc(slices.Clone(patchTypes), func(t string) bool { return strings.HasPrefix(t, "application/strategic") })
	}
	return patchTypes
}

func (o *operations) allows(verb string) bool { return slices.Contains(o.row.Verbs, verb) }

// prefix returns the group and version in an operation's name: "AppsV1".
func (o *operations) prefix() string { return prefixOf(o.row.GroupVersion()) }

func prefixOf(gv schema.GroupVersion) string { return groupName(gv.Group) + upperFirst(gv.Version) }

// groupName returns a group's name without its domain: "RbacAuthorization".
func groupName(group string) string {
	if group == "" {
		return "Core"
	}
	name := ""
	for part := range strings.SplitSeq(strings.TrimSuffix(group, ".k8s.io"), ".") {
		name += upperFirst(part)
	}
	return name
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// add completes a route with the attributes that all routes of the row share.
func (o *operations) add(r route) {
	r.tag = tagOf(o.row.GroupVersion())
	if r.kind == (schema.GroupVersionKind{}) {
		r.kind = o.row.GroupVersionKind
	}
	if r.consumes == nil {
		r.consumes = anything
	}
	if r.produces == nil {
		r.produces = objects
	}
	if r.codes == nil {
		r.codes = []int{http.StatusOK}
	}
	r.parameters = append(slices.Clip(r.parameters), parameter{
		name: "pretty", kind: common.QueryParameterKind, dataType: "string",
		description: "If 'true', the answer is indented for people to read.",
	})
	o.all = append(o.all, &r)
}

func tagOf(gv schema.GroupVersion) string { return lowerFirst(groupName(gv.Group)) + "_" + gv.Version }

func (o *operations) list(path, id string, parameters []common.Parameter) {
	o.add(route{
		method: http.MethodGet, path: path, id: id, action: "list",
		description: "list or watch objects of kind " + o.row.Kind,
		parameters:  slices.Concat(parameters, queryParameters(metav1.ListOptions{})),
		produces:    lists,
		reply:       listModelOf(o.row),
	})
}

// watchList is the action that watches several objects.
const watchList = "watchlist"

// watch adds an old path of watches, which custom kinds do not have in their documents.
func (o *operations) watch(path, id, action string, parameters []common.Parameter) {
	if o.row.Custom || !o.allows("watch") {
		return
	}
	o.add(route{
		method: http.MethodGet, path: o.base + "/watch" + path, id: "watch" + id, action: action,
		description: "watch changes of " + o.row.Kind + " objects; deprecated: a list with the parameter watch does the same",
		parameters:  slices.Concat(parameters, queryParameters(metav1.ListOptions{})),
		produces:    lists,
		reply:       &metav1.WatchEvent{},
	})
}

func (o *operations) addCollection(path string, parameters []common.Parameter) {
	name := o.prefix() + o.scope + o.row.Kind
	if o.allows("list") {
		o.list(path, "list"+name, parameters)
	}
	if o.allows("create") {
		o.add(route{
			method: http.MethodPost, path: path, id: "create" + name, action: "post",
			description: "create a " + o.row.Kind,
			parameters:  slices.Concat(parameters, queryParameters(metav1.CreateOptions{}), []common.Parameter{bodyParameter(true)}),
			body:        modelOf(o.row), reply: modelOf(o.row),
			codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
		})
	}
	if o.allows("deletecollection") {
		o.add(route{
			method: http.MethodDelete, path: path, id: "delete" + o.prefix() + "Collection" + o.scope + o.row.Kind, action: "deletecollection",
			description: "delete a collection of " + o.row.Kind,
			parameters: slices.Concat(parameters, queryParameters(metav1.ListOptions{}, "watch", "allowWatchBookmarks"),
				deleteParameters(), []common.Parameter{bodyParameter(false)}),
			body: &metav1.DeleteOptions{}, reply: &metav1.Status{},
		})
	}
}

func deleteParameters() []common.Parameter {
	return queryParameters(metav1.DeleteOptions{}, "preconditions")
}

func (o *operations) addNamed(path string, parameters []common.Parameter) {
	name := o.prefix() + o.scope + o.row.Kind
	o.access(path, name, "the specified "+o.row.Kind, o.row.GroupVersionKind, o.row.Verbs, modelOf(o.row), parameters)
	if o.allows("delete") {
		var deleted any = &metav1.Status{}
		if o.row.Strategy.ReturnDeleted {
			deleted = modelOf(o.row)
		}
		o.add(route{
			method: http.MethodDelete, path: path, id: "delete" + name, action: "delete",
			description: "delete a " + o.row.Kind,
			parameters:  slices.Concat(parameters, deleteParameters(), []common.Parameter{bodyParameter(false)}),
			body:        &metav1.DeleteOptions{}, reply: deleted,
			codes: []int{http.StatusOK, http.StatusAccepted},
		})
	}
}

// access adds the operations that objects and subresources share: read, replace and
// patch.
func (o *operations) access(path, name, what string, kind schema.GroupVersionKind, verbs []string, object any, parameters []common.Parameter) {
	if slices.Contains(verbs, "get") {
		o.add(route{
			method: http.MethodGet, path: path, id: "read" + name, action: "get", kind: kind,
			description: "read " + what, parameters: parameters, reply: object,
		})
	}
	if slices.Contains(verbs, "update") {
		o.add(route{
			method: http.MethodPut, path: path, id: "replace" + name, action: "put", kind: kind,
			description: "replace " + what,
			parameters:  slices.Concat(parameters, queryParameters(metav1.UpdateOptions{}), []common.Parameter{bodyParameter(true)}),
			body:        object, reply: object,
			codes: []int{http.StatusOK, http.StatusCreated},
		})
	}
	if slices.Contains(verbs, "patch") {
		o.add(route{
			method: http.MethodPatch, path: path, id: "patch" + name, action: "patch", kind: kind,
			description: "partially update " + what,
			parameters:  slices.Concat(parameters, queryParameters(metav1.PatchOptions{}), []common.Parameter{bodyParameter(true)}),
			consumes:    o.patchTypes(),
			body:        &metav1.Patch{}, reply: object,
			codes: []int{http.StatusOK, http.StatusCreated},
		})
	}
}

func (o *operations) addSubresource(path string, sub *resources.Subresource, parameters []common.Parameter) {
	if sub.Connect != nil {
		o.addProxied(path, sub, parameters)
		return
	}
	if sub.New == nil || !o.row.Custom && !described(sub.New()) {
		return
	}
	name := o.prefix() + o.scope + o.row.Kind + upperFirst(sub.Name)
	o.access(path, name, sub.Name+" of the specified "+o.row.Kind, sub.GroupVersionKind, sub.Verbs, subModelOf(o.row, sub), parameters)
	if slices.Contains(sub.Verbs, "create") {
		o.add(route{
			method: http.MethodPost, path: path, id: "create" + name, action: "post", kind: sub.GroupVersionKind,
			description: "create " + sub.Name + " of a " + o.row.Kind,
			parameters:  slices.Concat(parameters, queryParameters(metav1.CreateOptions{}), []common.Parameter{bodyParameter(true)}),
			body:        sub.New(), reply: sub.New(),
			codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
		})
	}
}

// described reports whether there is a schema for the type of obj. Objects without
// their own type have none.
func described(obj any) bool { return modelName(indirect(reflect.TypeOf(obj))) != "" }
