package requests

import (
	"net/http"
	"net/url"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// All returns the cases of the comparison, in the order in which they run.
func All(kinds []Kind, schemas Schemas) []exchange.Case {
	cases := []exchange.Case{prepare(), nonResources(), discovery(kinds), users(), connections(), bindings()}
	for i := range kinds {
		cases = append(cases, kinds[i].all(schemas)...)
	}
	cases = append(cases, custom()...)
	watched := map[string]bool{}
	for i := range kinds {
		if k := &kinds[i]; len(k.Manifests) > 0 && k.Has("watch") {
			c := k.watches(k.Manifests[0])
			// Two versions of a kind have the same objects.
			c.Parallel, watched[k.Kind] = !watched[k.Kind], true
			cases = append(cases, c)
		}
	}
	return cases
}

// all returns the cases of a kind that do not wait.
func (k *Kind) all(schemas Schemas) (cases []exchange.Case) {
	for _, m := range k.Manifests {
		cases = append(cases, k.life(m))
	}
	if len(k.Manifests) == 0 {
		return nil
	}
	m := k.Manifests[0]
	if k.Has("create") {
		cases = append(cases, k.media(m), k.createOptions(m), k.createMistakes(m), k.methods(m), k.access(m), k.types(m, schemas))
	}
	if k.Has("get") {
		cases = append(cases, k.lists(m), k.deleteOptions(m), k.deleteCollection(m))
		cases = append(cases, k.subresources(m)...)
	}
	return cases
}

// prepare creates the namespace of the comparison, and the service account that pods need.
func prepare() exchange.Case {
	c := exchange.Case{Name: "prepare"}
	c.Add(post("namespace", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"wire"}}`))
	for _, ns := range []string{namespace, "default"} {
		c.Add(post("service account in "+ns, "/api/v1/namespaces/"+ns+"/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`))
	}
	return c
}

var jsonBody = map[string]string{"Content-Type": exchange.JSON}

func get(name, path string) exchange.Request {
	return exchange.Request{Name: name, Method: http.MethodGet, Path: path}
}

func getAs(name, path, accept string) exchange.Request {
	return exchange.Request{Name: name, Method: http.MethodGet, Path: path, Header: map[string]string{"Accept": accept}}
}

func post(name, path, body string) exchange.Request {
	return exchange.Request{Name: name, Method: http.MethodPost, Path: path, Header: jsonBody, Body: body}
}

func put(name, path, from string, change func(map[string]any)) exchange.Request {
	return exchange.Request{Name: name, Method: http.MethodPut, Path: path, Header: jsonBody, From: from, Change: change}
}

func patch(name, path, contentType, body string) exchange.Request {
	return exchange.Request{Name: name, Method: http.MethodPatch, Path: path, Header: map[string]string{"Content-Type": contentType}, Body: body}
}

func del(name, path, body string) exchange.Request {
	r := exchange.Request{Name: name, Method: http.MethodDelete, Path: path, Body: body}
	if body != "" {
		r.Header = jsonBody
	}
	return r
}

// setup marks a request that only prepares others.
func setup(r exchange.Request) exchange.Request {
	r.Setup = true
	return r
}

// remove deletes an object that the case has created, although nothing removes its finalizers.
func remove(c *exchange.Case, name, item string) {
	c.Add(setup(del(name, item+"?gracePeriodSeconds=0", "")))
	c.Add(setup(patch(name+" and its finalizers", item, mergePatch, `{"metadata":{"finalizers":null}}`)))
}

// Media types of patches.
const (
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// item is the path of an object.
func (k *Kind) item(object map[string]any) string {
	return k.List() + "/" + url.PathEscape(nameOf(object))
}
