package requests

import (
	"net/http"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// methods sends every method to the kind's paths.
func (k *Kind) methods(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/methods"}
	object := k.Object(m)
	item := k.item(object)
	for _, path := range []struct{ name, path string }{
		{"list", k.List()}, {"list/", k.List() + "/"}, {"item", item}, {"item/", item + "/"}, {"unknown subresource", item + "/unknown"}, {"deep", item + "/status/x"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodTrace, "FOO"} {
			if path.name == "list" && method == http.MethodDelete || path.name == "list/" && method == http.MethodDelete || (path.name == "list" || path.name == "list/") && method == http.MethodPost {
				continue // it would succeed
			}
			query := "?labelSelector=wire%3Dnothing"
			r := exchange.Request{Name: method + " " + path.name, Method: method, Path: path.path + query}
			if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
				r.Header, r.Body = jsonBody, text(object)
			}
			c.Add(r)
		}
	}
	if k.Namespaced {
		c.Add(get("item without a namespace", k.All()+"/"+nameOf(object)))
		c.Add(post("create without a namespace", k.All()+"?dryRun=All", text(object)))
		c.Add(del("delete in all namespaces", k.All()+"?labelSelector=wire%3Dnothing", ""))
		c.Add(post("create in a namespace that does not exist", k.ListIn("missing")+"?dryRun=All", text(withMetadata(object, "namespace", "missing"))))
	} else {
		c.Add(get("in a namespace", k.Root()+"/namespaces/wire/"+k.Resource))
		c.Add(get("item in a namespace", k.Root()+"/namespaces/wire/"+k.Resource+"/"+nameOf(object)))
	}
	return c
}

// access sends requests that a user may not make.
func (k *Kind) access(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/access"}
	object := k.Object(m)
	item := k.item(object)
	for _, user := range []struct{ name, authorization string }{{"nobody", "Bearer wire-nobody"}, {"anonymous", ""}, {"unknown", "Bearer unknown"}} {
		header := map[string]string{"Authorization": user.authorization, "Content-Type": exchange.JSON}
		for _, r := range []exchange.Request{
			{Name: "get", Method: "GET", Path: item},
			{Name: "list", Method: "GET", Path: k.List()},
			{Name: "list all", Method: "GET", Path: k.All()},
			{Name: "watch", Method: "GET", Path: k.List() + "?watch=1"},
			{Name: "create", Method: "POST", Path: k.List(), Body: text(object)},
			{Name: "update", Method: "PUT", Path: item, Body: text(object)},
			{Name: "patch", Method: "PATCH", Path: item, Body: "{}"},
			{Name: "delete", Method: "DELETE", Path: item},
			{Name: "delete collection", Method: "DELETE", Path: k.List()},
			{Name: "status", Method: "PUT", Path: item + "/status", Body: text(object)},
			{Name: "list with selectors", Method: "GET", Path: k.List() + "?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx"},
		} {
			r.Name, r.Header = user.name+" "+r.Name, header
			c.Add(r)
		}
	}
	return c
}
