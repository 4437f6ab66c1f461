package apiserver_test

import (
	"bytes"
	"net/http"
	"testing"
)

// FuzzCustomBodies sends arbitrary bodies to a custom kind: no response is an internal
// error, except for an apply that does not fit the schema, and stored objects can be
// read again, from the store and from the cache.
func FuzzCustomBodies(f *testing.F) {
	const head = `"apiVersion":"example.com/v1","kind":"Widget"`
	for _, seed := range []string{
		`{` + head + `,"metadata":{"name":"b"},"spec":{"size":1}}`,
		`{` + head + `,"metadata":{"name":"a"},"spec":{"size":2,"color":null,"replicas":null,"anything":{"x":null}},"status":null}`,
		`{` + head + `,"metadata":"x"}`,
		`{` + head + `,"metadata":{"name":"b","labels":[],"finalizers":{},"ownerReferences":1}}`,
		`{` + head + `,"metadata":{"generateName":"b"},"spec":[],"status":"x"}`,
		`{` + head + `,"metadata":{"name":"b"},"spec":{"size":1e3,"replicas":9999999999,"template":{"metadata":[]}}}`,
		`{"apiVersion":7,"kind":{}}`,
		`null`, `[]`, `""`, `{}`, "a: b", `[{"op":"remove","path":""}]`, `[{"op":"replace","path":"/metadata","value":null}]`,
		`{"metadata":null,"spec":null}`, `{"kind":null}`, `{"spec":{"ports":[null,{"name":null}]}}`,
		`{` + head + `,"spec":{"ports":[{"name":"a"},{"name":"a"}]}}`, `{"metadata":{"managedFields":[{}]}}`,
	} {
		for method := range uint8(5) {
			f.Add(method, seed)
		}
	}
	h := start(f)
	h.mustSend("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON(f, parseDefinition(f, widgetDefinition)))
	const all, one = "/apis/example.com/v1/namespaces/default/widgets", "/apis/example.com/v1/namespaces/default/widgets/a"
	h.mustSend("POST", all, asJSON(f, widget("a", map[string]any{"size": 1})))
	f.Fuzz(func(t *testing.T, method uint8, body string) {
		h := &harness{t: t, ctx: t.Context(), store: h.store, ledger: h.ledger, server: h.server}
		var r *reply
		switch method % 5 {
		case 0:
			r = h.send("POST", all, body)
		case 1:
			r = h.send("PUT", one, body)
		case 2:
			r = h.send("PATCH", one, body, "Content-Type", "application/merge-patch+json")
		case 3:
			r = h.send("PATCH", one, body, "Content-Type", "application/json-patch+json")
		case 4:
			r = h.send("PATCH", one+"?fieldManager=f&force=true", body, "Content-Type", "application/apply-patch+yaml")
		}
		if r.code >= 500 && method%5 != 4 {
			t.Errorf("%d: %s", r.code, r.body)
		}
		list := h.send("GET", all, "")
		if list.code != http.StatusOK {
			t.Fatalf("listing: %d %s", list.code, list.body)
		}
		if stored := h.mustSend("GET", one, ""); !bytes.Contains(list.body, bytes.TrimSpace(stored.body)) {
			t.Errorf("the cache has something else than the store:\n%s\n%s", list.body, stored.body)
		}
	})
}
