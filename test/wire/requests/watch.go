package requests

import (
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// watches watches what happened to an object, from its creation to its end, in every form. They
// end after a second.
func (k *Kind) watches(m Manifest) exchange.Case {
	object := withMetadata(k.Object(m), "labels", map[string]any{"wire": "watch"})
	item := k.item(object)
	const from = "?watch=true&timeoutSeconds=1&labelSelector=wire%3Dwatch&resourceVersion=${create:metadata.resourceVersion}"
	c := exchange.Case{Name: k.ID() + "/watch", Parallel: true}
	remove(&c, "delete what another case has left", item)
	c.Add(setup(post("create", k.List(), text(object))))
	c.Add(setup(patch("change", item, mergePatch, `{"metadata":{"annotations":{"a":"b"}}}`)))
	c.Add(setup(patch("leave", item, mergePatch, `{"metadata":{"labels":{"wire":"left"}}}`)))
	c.Add(setup(patch("return", item, mergePatch, `{"metadata":{"labels":{"wire":"watch"}}}`)))
	remove(&c, "delete", item)
	for _, w := range []struct{ name, query, accept string }{
		{"JSON", "", ""},
		{"bookmarks", "&allowWatchBookmarks=true", ""},
		{"metadata", "", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
		{"table", "", tableV1},
		{"protobuf", "", exchange.Protobuf},
		{"protobuf stream", "", "application/vnd.kubernetes.protobuf;stream=watch"},
		{"YAML", "", exchange.YAML},
		{"JSON stream", "", "application/json;stream=watch"},
		{"one name", "&fieldSelector=metadata.name%3D" + nameOf(object), ""},
	} {
		r := exchange.Request{Name: w.name, Method: "GET", Path: k.List() + from + w.query, Waits: true}
		if w.accept != "" {
			r.Header = map[string]string{"Accept": w.accept}
		}
		c.Add(r)
	}
	c.Add(waits("old path", k.Root()+"/watch"+k.List()[len(k.Root()):]+from))
	c.Add(waits("old path of a name", k.Root()+"/watch"+item[len(k.Root()):]+from))
	c.Add(waits("name", item+from))
	for _, query := range []string{
		"resourceVersion=x", "resourceVersion=-1", "resourceVersion=1", "resourceVersion=99999999999", "sendInitialEvents=true", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "sendInitialEvents=true&resourceVersionMatch=Exact",
		"sendInitialEvents=false", "resourceVersionMatch=NotOlderThan", "timeoutSeconds=x", "fieldSelector=unknown%3Dx", "labelSelector=%21%21", "limit=1", "continue=x",
	} {
		if !strings.Contains(query, "timeoutSeconds") {
			query += "&timeoutSeconds=1"
		}
		c.Add(waits("watch with "+query, k.List()+"?watch=true&labelSelector=wire%3Dnothing&"+query))
	}
	for _, query := range []string{"watch=", "watch=x", "watch=TRUE", "resourceVersion=99999999999"} {
		c.Add(waits("list with "+query, k.List()+"?labelSelector=wire%3Dnothing&timeoutSeconds=1&"+query))
	}
	c.Add(setup(post("create again", k.List(), text(object))))
	const initial = "?watch=true&timeoutSeconds=1&labelSelector=wire%3Dwatch&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	c.Add(waits("initial events", k.List()+initial))
	remove(&c, "delete again", item)
	return c
}

// waits is a read that takes its time.
func waits(name, path string) exchange.Request {
	r := get(name, path)
	r.Waits = true
	return r
}
