package requests

import (
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// deleteQueries are options of deletions.
var deleteQueries = []string{
	"gracePeriodSeconds=0", "gracePeriodSeconds=-1", "gracePeriodSeconds=x", "gracePeriodSeconds=", "gracePeriodSeconds=99999999999999999999", "gracePeriodSeconds=5",
	"propagationPolicy=Orphan", "propagationPolicy=Foreground", "propagationPolicy=Background", "propagationPolicy=foreground", "propagationPolicy=",
	"orphanDependents=true", "orphanDependents=false", "orphanDependents=x", "orphanDependents=", "orphanDependents=true&propagationPolicy=Orphan",
	"dryRun=x", "dryRun=All&dryRun=All", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "ignoreStoreReadErrorWithClusterBreakingPotential=x", "unknown=1",
	"preconditions=x", "fieldValidation=Strict", "fieldManager=wire", "resourceVersion=1", "timeout=1s", "timeout=x",
}

// deleteBodies are bodies of deletions.
var deleteBodies = []struct{ name, body string }{
	{"empty options", `{"apiVersion":"v1","kind":"DeleteOptions"}`},
	{"options of meta", `{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions"}`},
	{"options of another group", `{"apiVersion":"apps/v1","kind":"DeleteOptions"}`},
	{"options of an unknown group", `{"apiVersion":"example.com/v1","kind":"DeleteOptions"}`},
	{"no kind", `{}`},
	{"another kind", `{"apiVersion":"v1","kind":"Pod"}`},
	{"no JSON", `{`},
	{"null", `null`},
	{"a list", `[]`},
	{"unknown field", `{"apiVersion":"v1","kind":"DeleteOptions","unknown":1}`},
	{"wrong type", `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":"x"}`},
	{"negative grace", `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":-5}`},
	{"both policies", `{"apiVersion":"v1","kind":"DeleteOptions","orphanDependents":true,"propagationPolicy":"Orphan"}`},
	{"unknown policy", `{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"x"}`},
	{"dry in the body", `{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"]}`},
	{"wrong dryRun", `{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["x"]}`},
	{"another UID", `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`},
	{"another version", `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":"1"}}`},
	{"UID and version", `{"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"],"preconditions":{"uid":"${create:metadata.uid}","resourceVersion":"${create:metadata.resourceVersion}"}}`},
	{"unsafe", `{"apiVersion":"v1","kind":"DeleteOptions","ignoreStoreReadErrorWithClusterBreakingPotential":true}`},
	{"unsafe with more", `{"apiVersion":"v1","kind":"DeleteOptions","ignoreStoreReadErrorWithClusterBreakingPotential":true,"gracePeriodSeconds":0,"dryRun":["All"]}`},
}

// deleteOptions deletes an object with each option.
func (k *Kind) deleteOptions(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/delete options"}
	object := k.Object(m)
	item, body := k.item(object), text(object)
	c.Add(setup(post("create", k.List(), body)))
	for _, query := range deleteQueries {
		if !strings.Contains(query, "dryRun") && !strings.Contains(query, "unsafe") {
			query += "&dryRun=All"
		}
		c.Add(del("query "+query, item+"?"+query, ""))
	}
	for _, b := range deleteBodies {
		path := item
		if !strings.Contains(b.body, "dryRun") && strings.HasPrefix(b.body, "{") && !strings.Contains(b.body, "UID") {
			path += "?dryRun=All"
		}
		c.Add(del("body "+b.name, path, b.body))
	}
	c.Add(exchange.Request{Name: "body in YAML", Method: "DELETE", Path: item, Header: map[string]string{"Content-Type": exchange.YAML}, Body: "apiVersion: v1\nkind: DeleteOptions\ndryRun: [All]\n"})
	c.Add(exchange.Request{Name: "body in text", Method: "DELETE", Path: item + "?dryRun=All", Header: map[string]string{"Content-Type": "text/plain"}, Body: "x"})
	c.Add(getDeletedAs("as a table", item+"?dryRun=All", tableV1))
	c.Add(getDeletedAs("as protobuf", item+"?dryRun=All", exchange.Protobuf))
	c.Add(getDeletedAs("as YAML", item+"?dryRun=All", exchange.YAML))
	c.Add(getDeletedAs("as text", item+"?dryRun=All", "text/plain"))
	remove(&c, "delete", item)
	for _, policy := range []string{"Foreground", "Orphan", "Background"} {
		c.Add(setup(post("create for "+policy, k.List(), body)))
		c.Add(del(policy, item+"?propagationPolicy="+policy, ""))
		c.Add(get("get after "+policy, item))
		c.Add(del(policy+" again", item+"?propagationPolicy="+policy, ""))
		c.Add(patch("change after "+policy, item, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`))
		c.Add(patch("add a finalizer after "+policy, item, mergePatch, `{"metadata":{"finalizers":["example.com/late"]}}`))
		c.Add(patch("remove finalizers after "+policy, item, mergePatch, `{"metadata":{"finalizers":null}}`))
		c.Add(get("gone after "+policy, item))
		remove(&c, "clean up after "+policy, item)
	}
	held := withMetadata(object, "finalizers", []any{"example.com/hold"})
	c.Add(setup(post("create with a finalizer", k.List(), text(held))))
	c.Add(del("delete with a finalizer", item, ""))
	c.Add(get("get with a finalizer", item))
	c.Add(patch("release", item, jsonPatch, `[{"op":"remove","path":"/metadata/finalizers"}]`))
	c.Add(get("get released", item))
	remove(&c, "clean up", item)
	return c
}

func getDeletedAs(name, path, accept string) exchange.Request {
	r := del("delete "+name, path, "")
	r.Header = map[string]string{"Accept": accept}
	return r
}

// deleteCollection deletes several objects.
func (k *Kind) deleteCollection(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/delete collection"}
	object := withMetadata(k.Object(m), "labels", map[string]any{"wire": "collection"})
	c.Add(setup(post("create", k.List(), text(object))))
	const selected = "?labelSelector=wire%3Dcollection"
	for _, query := range append(deleteQueries, "limit=1", "limit=x", "resourceVersion=1&resourceVersionMatch=Exact", "fieldSelector=metadata.name%3Dmissing", "fieldSelector=unknown%3Dx", "watch=true") {
		c.Add(del("query "+query, k.List()+selected+"&dryRun=All&"+query, ""))
	}
	c.Add(del("no object matches", k.List()+"?labelSelector=wire%3Dnone", ""))
	c.Add(del("wrong selector", k.List()+"?labelSelector=%21%21", ""))
	for _, b := range deleteBodies {
		if strings.Contains(b.body, "dryRun") || !strings.HasPrefix(b.body, "{") {
			c.Add(del("body "+b.name, k.List()+selected+"&dryRun=All", b.body))
		}
	}
	c.Add(getDeletedAs("as a table", k.List()+selected+"&dryRun=All", tableV1))
	c.Add(getDeletedAs("as protobuf", k.List()+selected+"&dryRun=All", exchange.Protobuf))
	c.Add(del("delete", k.List()+selected, ""))
	c.Add(get("list", k.List()+selected))
	remove(&c, "clean up", k.item(object))
	return c
}
