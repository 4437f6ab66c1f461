package requests

import (
	"fmt"
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// createQueries are options of creates.
var createQueries = []string{
	"dryRun=All", "dryRun=", "dryRun=none", "dryRun=All&dryRun=All", "dryRun=all",
	"dryRun=All&fieldManager=wire", "dryRun=All&fieldManager=" + strings.Repeat("m", 129), "dryRun=All&fieldManager=a%0Ab",
	"dryRun=All&fieldValidation=Strict", "dryRun=All&fieldValidation=Warn", "dryRun=All&fieldValidation=Ignore", "dryRun=All&fieldValidation=strict", "dryRun=All&fieldValidation=",
	"dryRun=All&unknown=1", "dryRun=All&pretty=true", "dryRun=All&pretty=x", "dryRun=All&timeout=1s", "dryRun=All&timeout=x", "dryRun=All&timeout=-1s", "dryRun=All&timeout=1000h",
}

// createOptions creates an object with each option, without storing it.
func (k *Kind) createOptions(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/create options"}
	body := text(k.Object(m))
	for _, query := range createQueries {
		c.Add(post(shortQuery(query), k.List()+"?"+query, body))
	}
	unknown := clone(k.Object(m))
	unknown["unknown"] = 1
	metadataOf(unknown)["odd"] = "x"
	if spec, ok := unknown["spec"].(map[string]any); ok {
		spec["unknown"] = map[string]any{"a": 1}
	}
	twice := strings.Replace(body, `"metadata":{`, `"kind":"`+k.Kind+`","metadata":{"name":"x",`, 1)
	for _, mode := range []string{"", "&fieldValidation=Strict", "&fieldValidation=Warn", "&fieldValidation=Ignore"} {
		c.Add(post("unknown fields"+mode, k.List()+"?dryRun=All"+mode, text(unknown)))
		c.Add(post("fields twice"+mode, k.List()+"?dryRun=All"+mode, twice))
		c.Add(exchange.Request{Name: "unknown fields in YAML" + mode, Method: "POST", Path: k.List() + "?dryRun=All" + mode, Header: map[string]string{"Content-Type": exchange.YAML}, Body: text(unknown)})
	}
	return c
}

// shortQuery is a query as part of a name.
func shortQuery(query string) string {
	if len(query) > 60 {
		query = fmt.Sprintf("%s... (%d)", query[:50], len(query))
	}
	return query
}

// createMistakes creates what cannot be created.
func (k *Kind) createMistakes(m Manifest) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/create mistakes"}
	object := k.Object(m)
	path := k.List() + "?dryRun=All"
	for _, b := range k.bodyMistakes(object) {
		c.Add(post(b.name, path, b.body))
	}
	for _, change := range k.changeMistakes() {
		changed := clone(object)
		change.make(changed)
		c.Add(post(change.name, path, text(changed)))
	}
	for _, contentType := range []string{"", "text/plain", "application/xml", "application/json; charset=utf-8", "application/JSON", "application/cbor", exchange.Protobuf, exchange.YAML, "json", "application/json, text/plain", mergePatch, "*/*"} {
		r := post("content type "+contentType, path, text(object))
		r.Header = map[string]string{"Content-Type": contentType}
		c.Add(r)
	}
	return c
}

func owner(name string, controller bool) map[string]any {
	o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "00000000-0000-0000-0000-00000000000" + name}
	if controller {
		o["controller"] = true
	}
	return o
}

func blocking(owner map[string]any) map[string]any {
	owner["blockOwnerDeletion"] = true
	return owner
}

// mistake is a body that cannot be created.
type mistake struct{ name, body string }

// bodyMistakes are bodies that are no object of the kind.
func (k *Kind) bodyMistakes(object map[string]any) []mistake {
	return []mistake{
		{"nothing", ""},
		{"white space", " "},
		{"null", "null"},
		{"a number", "1"},
		{"a list", "[]"},
		{"a string", `"x"`},
		{"an empty object", "{}"},
		{"half an object", `{"apiVersion":`},
		{"text", "hello"},
		{"two objects", text(object) + text(object)},
		{"trailing text", text(object) + "x"},
		{"a list of the kind", `{"apiVersion":"` + k.APIVersion() + `","kind":"` + k.Kind + `List","items":[]}`},
		{"a Status", `{"apiVersion":"v1","kind":"Status"}`},
		{"options", `{"apiVersion":"` + k.APIVersion() + `","kind":"DeleteOptions"}`},
		{"only the kind", `{"kind":"` + k.Kind + `"}`},
		{"kind and version", `{"apiVersion":"` + k.APIVersion() + `","kind":"` + k.Kind + `"}`},
		{"protobuf's prefix", "k8s\x00"},
	}
}

// wrong is a change that makes an object invalid, or odd.
type wrong struct {
	name string
	make func(map[string]any)
}

// changeMistakes are changes of what an object says that it is, and of the rest of it.
func (k *Kind) changeMistakes() []wrong {
	return append([]wrong{
		{"another kind", func(o map[string]any) { o["kind"] = "Other" }},
		{"kind in lower case", func(o map[string]any) { o["kind"] = strings.ToLower(k.Kind) }},
		{"no kind", func(o map[string]any) { delete(o, "kind") }},
		{"kind is a number", func(o map[string]any) { o["kind"] = 1 }},
		{"another version", func(o map[string]any) { o["apiVersion"] = "example.com/v1" }},
		{"a version that does not exist", func(o map[string]any) { o["apiVersion"] = strings.TrimSuffix(k.APIVersion(), k.Version) + "v9" }},
		{"no version", func(o map[string]any) { delete(o, "apiVersion") }},
		{"a version with two slashes", func(o map[string]any) { o["apiVersion"] = "a/b/c" }},
		{"a status", func(o map[string]any) { o["status"] = map[string]any{"unknown": 1} }},
		{"spec is a list", func(o map[string]any) { o["spec"] = []any{} }},
		{"spec is a string", func(o map[string]any) { o["spec"] = "x" }},
		{"no spec", func(o map[string]any) { delete(o, "spec") }},
	}, metadataMistakes(k.APIVersion())...)
}

// metadataMistakes are changes of the metadata.
func metadataMistakes(apiVersion string) []wrong {
	return []wrong{
		{"no metadata", func(o map[string]any) { delete(o, "metadata") }},
		{"metadata is null", func(o map[string]any) { o["metadata"] = nil }},
		{"metadata is a list", func(o map[string]any) { o["metadata"] = []any{} }},
		{"no name", without("metadata", "name")},
		{"name is a number", metadata("name", 1)},
		{"empty name", metadata("name", "")},
		{"name with capitals", metadata("name", "Upper")},
		{"name with a slash", metadata("name", "a/b")},
		{"name with a percent sign", metadata("name", "a%b")},
		{"name is a dot", metadata("name", ".")},
		{"long name", metadata("name", strings.Repeat("a", 254))},
		{"longest name", metadata("name", strings.Repeat("a", 253))},
		{"name of 64 characters", metadata("name", strings.Repeat("a", 64))},
		{"generateName", both(without("metadata", "name"), metadata("generateName", "made-"))},
		{"generateName with capitals", both(without("metadata", "name"), metadata("generateName", "Made-"))},
		{"name and generateName", metadata("generateName", "made-")},
		{"another namespace", metadata("namespace", "other")},
		{"no namespace", without("metadata", "namespace")},
		{"namespace is a number", metadata("namespace", 1)},
		{"a resourceVersion", metadata("resourceVersion", "1")},
		{"a UID", metadata("uid", "00000000-0000-0000-0000-000000000001")},
		{"a creation time", metadata("creationTimestamp", "2020-01-01T00:00:00Z")},
		{"a wrong creation time", metadata("creationTimestamp", "yesterday")},
		{"a deletion time", metadata("deletionTimestamp", "2020-01-01T00:00:00Z")},
		{"a deletion grace period", metadata("deletionGracePeriodSeconds", 5)},
		{"a generation", metadata("generation", 7)},
		{"a self link", metadata("selfLink", "/x")},
		{"a wrong label", label("a b", "c")},
		{"a wrong value of a label", label("a", "b c")},
		{"labels is a list", metadata("labels", []any{"a"})},
		{"a label is a number", metadata("labels", map[string]any{"a": 1})},
		{"a label is null", metadata("labels", map[string]any{"a": nil})},
		{"a wrong annotation", metadata("annotations", map[string]any{"a b": "c"})},
		{"large annotations", metadata("annotations", map[string]any{"a": strings.Repeat("x", 262145)})},
		{"a wrong finalizer", metadata("finalizers", []any{"x"})},
		{"a finalizer", metadata("finalizers", []any{"example.com/f"})},
		{"finalizers twice", metadata("finalizers", []any{"example.com/f", "example.com/f"})},
		{"orphan and foreground", metadata("finalizers", []any{"orphan", "foregroundDeletion"})},
		{"an empty owner", metadata("ownerReferences", []any{map[string]any{}})},
		{"an owner", metadata("ownerReferences", []any{owner("a", false)})},
		{"two controllers", metadata("ownerReferences", []any{owner("a", true), owner("b", true)})},
		{"the same owner twice", metadata("ownerReferences", []any{owner("a", false), owner("a", false)})},
		{"an owner that blocks", metadata("ownerReferences", []any{blocking(owner("a", true))})},
		{"managed fields", metadata("managedFields", []any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": apiVersion, "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}})},
		{"wrong managed fields", metadata("managedFields", []any{map[string]any{"manager": "m", "operation": "x"}})},
	}
}
