package requests

import (
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// listQueries are options of lists. Lists see only the objects of one label.
var listQueries = []string{
	"limit=1", "limit=2", "limit=100", "limit=0", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=9223372036854775808",
	"continue=x", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0", "continue=", "limit=1&continue=x&resourceVersion=1",
	"resourceVersion=0", "resourceVersion=1", "resourceVersion=x", "resourceVersion=-1", "resourceVersion=",
	"resourceVersion=0&resourceVersionMatch=NotOlderThan", "resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=NotOlderThan",
	"resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Exact", "resourceVersionMatch=x", "resourceVersionMatch=", "resourceVersion=1&resourceVersionMatch=x",
	"resourceVersion=${create a:metadata.resourceVersion}&resourceVersionMatch=Exact", "resourceVersion=${create a:metadata.resourceVersion}&resourceVersionMatch=NotOlderThan",
	"resourceVersion=${create a:metadata.resourceVersion}", "limit=1&resourceVersion=0", "limit=1&resourceVersion=${create a:metadata.resourceVersion}&resourceVersionMatch=Exact",
	"timeoutSeconds=1", "timeoutSeconds=x", "timeoutSeconds=-1", "allowWatchBookmarks=true", "allowWatchBookmarks=x", "sendInitialEvents=true", "sendInitialEvents=false", "sendInitialEvents=x",
	"watch=false", "watch=0", "shardSelector=x", "unknown=1", "pretty=true", "includeObject=Object",
	"fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name%21%3Da", "fieldSelector=metadata.name%3D%3Da", "fieldSelector=metadata.namespace%3Dwire", "fieldSelector=metadata.namespace%3Dx",
	"fieldSelector=metadata.uid%3Dx", "fieldSelector=unknown%3Dx", "fieldSelector=spec.nodeName%3D", "fieldSelector=status.phase%3DRunning", "fieldSelector=x", "fieldSelector=%3D", "fieldSelector=,", "fieldSelector=",
	"fieldSelector=metadata.name%3Da,metadata.name%3Db", "fieldSelector=metadata.name%3Da%5C,b", "fieldSelector=metadata.name%20in%20(a)",
	"limit=1&fieldSelector=metadata.name%3Da",
}

// labelQueries are label selectors.
var labelQueries = []string{
	"wire%3Dlist", "wire%3D%3Dlist", "wire%20in%20(list,x)", "wire%20in%20()", "wire,wire%3Dlist", "wire%3Dlist,n%20notin%20(a)", "wire%3Dlist,n%3E1", "wire%3Dlist,n%3C1", "wire%3Dlist,n%3Ex",
	"wire%3Dlist,%21none", "wire%3Dlist,none", "wire%3D%20list", "wire%3Dlist,", ",", "%21%21", "a%20b", "wire%3D-", "-%3Dwire", "wire%3Dlist,wire%3Dother", "wire%20IN%20(list)", "wire%3D" + strings.Repeat("x", 64),
}

// lists lists two objects with each option.
func (k *Kind) lists(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/list options"}
	object := withMetadata(k.Object(m), "labels", map[string]any{"wire": "list"})
	c.Add(setup(post("create a", k.List(), text(object))))
	const selected = "?labelSelector=wire%3Dlist&"
	for _, query := range listQueries {
		c.Add(get(query, k.List()+selected+query))
	}
	for _, query := range labelQueries {
		c.Add(get("label "+query, k.List()+"?labelSelector="+query))
	}
	c.Add(get("label twice", k.List()+"?labelSelector=wire%3Dlist&labelSelector=wire%3Dx"))
	if k.Namespaced {
		c.Add(get("all namespaces", k.All()+selected))
		c.Add(get("all namespaces, one by field", k.All()+selected+"fieldSelector=metadata.namespace%3Dwire"))
		c.Add(get("all namespaces, another by field", k.All()+selected+"fieldSelector=metadata.namespace%3Dx"))
		c.Add(get("a namespace that does not exist", k.ListIn("missing")))
		c.Add(get("a namespace that is no name", k.ListIn("A_B")))
	}
	for _, a := range []struct{ name, accept string }{{"a table", tableV1}, {"metadata", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, {"protobuf", exchange.Protobuf}, {"YAML", exchange.YAML}} {
		c.Add(getAs("limit as "+a.name, k.List()+selected+"limit=1", a.accept))
		c.Add(getAs("nothing as "+a.name, k.List()+"?labelSelector=wire%3Dnothing", a.accept))
	}
	c.Add(exchange.Request{Name: "compressed", Method: "GET", Path: k.List() + selected, Header: map[string]string{"Accept-Encoding": "gzip"}})
	remove(&c, "delete", k.item(object))
	return c
}
