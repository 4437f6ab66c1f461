package requests

import (
	"net/http"
	"slices"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// subresources uses each subresource by each method.
func (k *Kind) subresources(m Manifest) (cases []exchange.Case) {
	for _, sub := range k.Subresources {
		if slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, sub.Name) {
			continue // of their own
		}
		c := exchange.Case{Name: k.ID() + "/" + sub.Name + "/subresources"}
		object := k.Object(m)
		item := k.item(object)
		path := item + "/" + sub.Name
		c.Add(setup(post("create", k.List(), text(object))))
		if slices.Contains(sub.Verbs, "get") {
			k.readAndWrite(&c, item, path)
		}
		for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			for _, body := range []struct{ name, body string }{{"", ""}, {" with an empty object", "{}"}, {" with the object", text(object)}, {" with its kind", `{"apiVersion":"` + k.APIVersion() + `","kind":"` + sub.Kind + `","metadata":{"name":"` + nameOf(object) + `"}}`}} {
				if body.body != "" && (method == http.MethodHead || method == http.MethodOptions) {
					continue
				}
				r := exchange.Request{Name: method + body.name, Method: method, Path: path, Body: body.body}
				if body.body != "" {
					r.Header = jsonBody
				}
				c.Add(r)
				r.Name, r.Path = r.Name+" of what does not exist", k.List()+"/missing/"+sub.Name
				c.Add(r)
			}
		}
		c.Add(get("get with a slash", path+"/"))
		c.Add(get("get of what does not exist", k.List()+"/missing/"+sub.Name))
		remove(&c, "delete", item)
		cases = append(cases, c)
	}
	return cases
}

// readAndWrite reads a subresource and writes it back, with changes of the metadata.
func (k *Kind) readAndWrite(c *exchange.Case, item, path string) {
	for _, a := range accepts {
		c.Add(getAs("get as "+a.name, path, a.accept))
	}
	c.Add(get("get", path))
	c.Add(put("put unchanged", path, "get", nil))
	for _, change := range []struct {
		name string
		make func(map[string]any)
	}{
		{"a label", label("wire", "sub")},
		{"an annotation", metadata("annotations", map[string]any{"wire": "sub"})},
		{"a finalizer", metadata("finalizers", []any{"example.com/sub"})},
		{"an owner", metadata("ownerReferences", []any{owner("a", false)})},
		{"a generation", metadata("generation", 99)},
		{"a deletion time", metadata("deletionTimestamp", "2030-01-01T00:00:00Z")},
		{"no managed fields", metadata("managedFields", []any{map[string]any{}})},
		{"another name", metadata("name", "other")},
		{"another UID", metadata("uid", "00000000-0000-0000-0000-000000000000")},
		{"another version", metadata("resourceVersion", "1")},
		{"an unknown field", func(o map[string]any) { field(o, "status")["unknown"] = 1 }},
		{"a wrong status", func(o map[string]any) { o["status"] = "x" }},
		{"no status", func(o map[string]any) { delete(o, "status") }},
		{"another kind", func(o map[string]any) { o["kind"] = "Other" }},
	} {
		c.Add(put("put with "+change.name, path, "get", both(without("metadata", "resourceVersion"), change.make)))
	}
	c.Add(get("the object after puts", item))
	for _, p := range []struct{ name, contentType, body string }{
		{"merge", mergePatch, `{"metadata":{"labels":{"m":"m"},"annotations":{"m":"m"},"finalizers":["example.com/m"]}}`},
		{"strategic", strategicPatch, `{"metadata":{"labels":{"s":"s"},"annotations":{"s":"s"}}}`},
		{"JSON", jsonPatch, `[{"op":"add","path":"/metadata/labels","value":{"j":"j"}}]`},
		{"apply", applyPatch, `{"apiVersion":"` + k.APIVersion() + `","kind":"` + k.Kind + `","metadata":{"labels":{"a":"a"},"annotations":{"a":"a"}}}`},
	} {
		c.Add(patch("patch by "+p.name, path+"?fieldManager=wire&force=true", p.contentType, p.body))
		c.Add(get("the object after "+p.name, item))
	}
	c.Add(setup(patch("clean up", item, mergePatch, `{"metadata":{"finalizers":null}}`)))
	if k.Status != nil {
		c.Add(put("put a status", path, "get", both(without("metadata", "resourceVersion"), func(o map[string]any) { o["status"] = clone(k.Status)["status"] })))
		c.Add(patch("merge a status", path, mergePatch, text(map[string]any{"status": k.Status["status"]})))
		c.Add(patch("apply a status", path+"?fieldManager=wire&force=true", applyPatch, text(map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "status": k.Status["status"]})))
		c.Add(getAs("table with a status", item, tableV1))
	}
}
