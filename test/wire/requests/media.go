package requests

import (
	"fmt"

	"minikcm.dev/minikcm/test/wire/exchange"
)

const tableV1 = "application/json;as=Table;v=v1;g=meta.k8s.io"

// accepts are values of the header Accept, with names for them.
var accepts = []struct{ name, accept string }{
	{"JSON", exchange.JSON},
	{"YAML", exchange.YAML},
	{"protobuf", exchange.Protobuf},
	{"protobuf or JSON", "application/vnd.kubernetes.protobuf,application/json"},
	{"protobuf by preference", "application/json;q=0.1, application/vnd.kubernetes.protobuf;q=0.9"},
	{"CBOR", "application/cbor"},
	{"CBOR or JSON", "application/cbor,application/json"},
	{"anything", "*/*"},
	{"any application", "application/*"},
	{"a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
	{"text", "text/plain"},
	{"no media type", "x"},
	{"JSON in a charset", "application/json; charset=utf-16"},
	{"pretty JSON", "application/json;pretty=1"},
	{"a table", tableV1},
	{"a table of v1beta1", "application/json;as=Table;v=v1beta1;g=meta.k8s.io"},
	{"a table of v2", "application/json;as=Table;v=v2;g=meta.k8s.io"},
	{"a table or JSON", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"},
	{"a table as YAML", "application/yaml;as=Table;v=v1;g=meta.k8s.io"},
	{"a table as protobuf", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io"},
	{"a table of another group", "application/json;as=Table;v=v1;g=example.com"},
	{"metadata", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
	{"metadata of v1beta1", "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io"},
	{"metadata as protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
	{"metadata as YAML", "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
	{"a list of metadata", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
	{"a list of metadata of v1beta1", "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"},
	{"a list of metadata as protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
	{"another kind", "application/json;as=Other;v=v1;g=meta.k8s.io"},
	{"discovery", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"},
}

// media reads an object and a list in every form.
func (k *Kind) media(m Manifest) exchange.Case {
	object := withMetadata(k.Object(m), "labels", map[string]any{"wire": "media"})
	item := k.item(object)
	c := exchange.Case{Name: k.ID() + "/media"}
	c.Add(setup(post("create", k.List(), text(object))))
	for _, a := range accepts {
		if k.Has("get") {
			c.Add(getAs("get as "+a.name, item, a.accept))
		}
		if k.Has("list") {
			c.Add(getAs("list as "+a.name, k.List()+"?labelSelector=wire%3Dmedia", a.accept))
		}
	}
	for _, include := range []string{"None", "Metadata", "Object", "none", ""} {
		c.Add(getAs(fmt.Sprintf("table that includes %q", include), item+"?includeObject="+include, tableV1))
	}
	c.Add(exchange.Request{Name: "get compressed", Method: "GET", Path: item, Header: map[string]string{"Accept-Encoding": "gzip"}})
	c.Add(get("get pretty", item+"?pretty=true"))
	c.Add(get("get pretty 0", item+"?pretty=0"))
	remove(&c, "delete", item)
	return c
}
