package apiserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The names, rules and paths of random schemas: some fit together, some are invalid.
var (
	schemaNames = []string{"spec", "status", "a", "b", "c", "items", "metadata", "a.b", "a-b", "x/y", "$ref", "in", "self", "kind", "", "__x"}
	schemaRules = []string{
		"true", "self.a == oldSelf.a", "self == oldSelf", "has(self.a)", "self.a > 1", "self.all(x, x > 0)", "self.all(x, self.all(y, x == y))",
		"self.size() < 3", "size(self) < 3", "self.matches('^(a+)+$')", "self.?a.orValue(1) == 1", "oldSelf.hasValue() ? true : false",
		"self.exists_one(k, k == 'a')", "self.metadata.name == 'a'", "quantity(self).isGreaterThan(quantity('1'))", "self.split('').size() > 1",
		"cidr(self).containsIP('1.2.3.4')", "self.map(x, [x, x]).size() > 0", "self / 0 == 1", "1 +", "nope", "dyn(self) == 1", "self.__in__ == 1",
		"duration(self) > duration('1s')", "self.replace('a', 'aaaaaaaaaa') == 'b'", "format.dns1123Label().validate(self).hasValue()",
		"self.transformList(i, v, v).size() > 0", "sets.contains(self, [1])", "self.indexOf(1) == 0", "isURL(self)", "self.a.b.c == self.b", "type(self) == int",
	}
	schemaPaths = []string{".spec.a", ".spec", ".a", ".status.a", ".metadata.name", ".spec.a[0]", "spec.a", ".spec['a']", ".spec.items[*].a", "{", ".spec.a.b", ".", ".spec.b"}
)

// orNot sets a field in some cases.
func orNot[T any](t *rapid.T, into map[string]any, name string, g *rapid.Generator[T]) {
	if rapid.IntRange(0, 7).Draw(t, name+"?") == 0 {
		into[name] = g.Draw(t, name)
	}
}

// upstreams are errors that upstream reports as internal errors too: they concern
// schemas that server-side apply or the scale subresource cannot use. One of them has
// both a type and x-kubernetes-int-or-string: validation accepts the other type, too,
// while the typed conversion of server-side apply does not.
var upstreams = []string{
	"failed to create typed patch object", "failed to create typed live object", "failed to create manager for existing fields",
	"the spec replicas field",
}

// drawSchema draws a schema, which may be invalid.
func drawSchema(t *rapid.T, depth int) map[string]any {
	kinds := []string{"string", "integer", "number", "boolean", "object", "object", "array", "object"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "type")
	s := map[string]any{"type": kind}
	switch kind {
	case "object":
		drawObjectSchema(t, s, depth)
	case "array":
		s["items"] = drawSchema(t, depth-1)
		orNot(t, s, "x-kubernetes-list-type", rapid.SampledFrom([]string{"atomic", "set", "map", "x"}))
		orNot(t, s, "x-kubernetes-list-map-keys", rapid.SliceOfN(rapid.SampledFrom(schemaNames), 0, 2))
		orNot(t, s, "maxItems", rapid.IntRange(-1, 5))
	case "string":
		orNot(t, s, "format", rapid.SampledFrom([]string{"date-time", "byte", "uuid", "ipv4", "cidr", "duration", "nope", "date", "quantity"}))
		orNot(t, s, "pattern", rapid.SampledFrom([]string{"^a+$", "(", "(?!a)", ".*"}))
		orNot(t, s, "maxLength", rapid.IntRange(-1, 5))
		orNot(t, s, "enum", rapid.SliceOfN(rapid.SampledFrom([]any{"a", "b", 1, nil}), 0, 3))
	default:
		orNot(t, s, "minimum", rapid.Float64Range(-1e19, 1e19))
		orNot(t, s, "maximum", rapid.Just(3))
		orNot(t, s, "multipleOf", rapid.SampledFrom([]float64{0, 2, -1, 0.1}))
		orNot(t, s, "format", rapid.SampledFrom([]string{"int32", "int64", "float", "double"}))
	}
	orNot(t, s, "nullable", rapid.Bool())
	orNot(t, s, "default", rapid.Custom(func(t *rapid.T) any { return drawValue(t, 2) }))
	orNot(t, s, "x-kubernetes-int-or-string", rapid.Bool())
	orNot(t, s, "x-kubernetes-preserve-unknown-fields", rapid.Bool())
	orNot(t, s, "x-kubernetes-validations", rapid.SliceOfN(rapid.Custom(drawRule), 1, 2))
	orNot(t, s, rapid.SampledFrom([]string{"allOf", "anyOf", "oneOf"}).Draw(t, "junctor"), rapid.SliceOfN(rapid.Custom(drawCondition), 0, 2))
	orNot(t, s, "not", rapid.Custom(drawCondition))
	return s
}

func drawObjectSchema(t *rapid.T, s map[string]any, depth int) {
	properties := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "properties") {
		properties[rapid.SampledFrom(schemaNames).Draw(t, "property")] = drawSchema(t, depth-1)
	}
	s["properties"] = properties
	orNot(t, s, "required", rapid.SliceOfN(rapid.SampledFrom(schemaNames), 0, 2))
	orNot(t, s, "additionalProperties", rapid.Custom(func(t *rapid.T) any { return drawSchema(t, max(depth-1, 0)) }))
	orNot(t, s, "x-kubernetes-embedded-resource", rapid.Bool())
	orNot(t, s, "x-kubernetes-map-type", rapid.SampledFrom([]string{"atomic", "granular"}))
	orNot(t, s, "maxProperties", rapid.IntRange(-1, 3))
}

func drawRule(t *rapid.T) map[string]any {
	rule := map[string]any{"rule": rapid.SampledFrom(schemaRules).Draw(t, "rule")}
	orNot(t, rule, "message", rapid.SampledFrom([]string{"no", "", "a\nb"}))
	orNot(t, rule, "messageExpression", rapid.SampledFrom([]string{"'no ' + string(self)", "1", "''", "self", "("}))
	orNot(t, rule, "reason", rapid.SampledFrom([]string{"FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "x"}))
	orNot(t, rule, "fieldPath", rapid.SampledFrom(schemaPaths))
	orNot(t, rule, "optionalOldSelf", rapid.Bool())
	return rule
}

func drawCondition(t *rapid.T) map[string]any {
	s := map[string]any{}
	orNot(t, s, "required", rapid.SliceOfN(rapid.SampledFrom(schemaNames), 0, 2))
	orNot(t, s, "minimum", rapid.IntRange(0, 2))
	orNot(t, s, "pattern", rapid.Just("a"))
	orNot(t, s, "type", rapid.Just("string"))
	return s
}

func drawValue(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 9).Draw(t, "value"); {
	case depth > 0 && n < 3:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			m[rapid.SampledFrom(schemaNames).Draw(t, "field")] = drawValue(t, depth-1)
		}
		return m
	case depth > 0 && n < 5:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 3).Draw(t, "list")
	case n < 6:
		return rapid.SampledFrom([]any{nil, true, 1.5, -1e300}).Draw(t, "odd")
	case n < 8:
		return rapid.IntRange(-1, 4).Draw(t, "number")
	}
	return rapid.SampledFrom([]string{"a", "b", "", "1", "aaaaaaaa", "10.0.0.0/8", "1s"}).Draw(t, "string")
}

// drawDefinition draws a definition of the kind Fuzzy.
func drawDefinition(t *rapid.T) map[string]any {
	schema := drawSchema(t, 4)
	schema["type"] = "object"
	delete(schema, "default")
	version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}
	path := rapid.SampledFrom(schemaPaths)
	orNot(t, version, "additionalPrinterColumns", rapid.Just([]any{map[string]any{
		"name": "A", "type": rapid.SampledFrom([]string{"string", "integer", "date", "number"}).Draw(t, "column"), "jsonPath": path.Draw(t, "jsonPath"),
	}}))
	orNot(t, version, "selectableFields", rapid.Just([]any{map[string]any{"jsonPath": path.Draw(t, "selectable")}}))
	subresources := map[string]any{}
	orNot(t, subresources, "status", rapid.Just(map[string]any{}))
	orNot(t, subresources, "scale", rapid.Just(map[string]any{"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".status.b"}))
	version["subresources"] = subresources
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "fuzzies.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "versions": []any{version},
			"names": map[string]any{"plural": "fuzzies", "kind": "Fuzzy"},
		},
	}
}

func drawFuzzy(t *rapid.T) map[string]any {
	u := map[string]any{"apiVersion": "example.com/v1", "kind": "Fuzzy", "metadata": map[string]any{"name": "a"}}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		switch name := rapid.SampledFrom(schemaNames).Draw(t, "field"); name {
		case "metadata", "kind":
		default:
			u[name] = drawValue(t, 3)
		}
	}
	return u
}

// FuzzCustomSchemas defines kinds with arbitrary schemas and writes arbitrary objects:
// no response is an internal error, and stored objects can be read, listed, printed and
// described.
func FuzzCustomSchemas(f *testing.F) {
	h := start(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		inner := &harness{t: t, store: h.store, ledger: h.ledger, server: h.server} // f must not be used within the fuzz function
		rapid.MakeFuzz(func(rt *rapid.T) { tryDefinition(rt, inner) })(t, input)
	})
}

// TestCustomSchemas is the fuzz test with a few random inputs.
func TestCustomSchemas(t *testing.T) {
	h := start(t)
	rapid.Check(t, func(t *rapid.T) { tryDefinition(t, h) })
}

func tryDefinition(t *rapid.T, shared *harness) {
	h := &harness{t: shared.t, ctx: t.Context(), store: shared.store, ledger: shared.ledger, server: shared.server}
	const definitions, all, one = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/namespaces/default/fuzzies", "/apis/example.com/v1/namespaces/default/fuzzies/a"
	send := func(method, path string, body any, headers ...string) *reply {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r := h.send(method, path, string(text), headers...)
		if r.code >= 500 && !slices.ContainsFunc(upstreams, func(text string) bool { return strings.Contains(string(r.body), text) }) {
			t.Fatalf("%s %s %s: %d %s", method, path, text, r.code, r.body)
		}
		return r
	}
	definition := drawDefinition(t)
	if r := send("POST", definitions, definition); r.code != http.StatusCreated {
		return
	}
	defer func() {
		send("DELETE", definitions+"/fuzzies.example.com", nil)
		for send("GET", definitions+"/fuzzies.example.com", nil).code != http.StatusNotFound {
		}
	}()
	for range 3 {
		obj := drawFuzzy(t)
		send("POST", all, obj)
		send("PUT", one, obj)
		send("PATCH", one, obj, "Content-Type", "application/merge-patch+json")
		send("PATCH", one+"?fieldManager=f&force=true", obj, "Content-Type", "application/apply-patch+yaml")
		send("PATCH", one+"/status?fieldManager=f&force=true", obj, "Content-Type", "application/apply-patch+yaml")
		send("PATCH", one+"/status", obj, "Content-Type", "application/merge-patch+json")
		send("GET", one+"/scale", nil)
		send("PATCH", one+"/scale", map[string]any{"spec": map[string]any{"replicas": 3}}, "Content-Type", "application/merge-patch+json")
	}
	send("GET", all+"?fieldSelector=spec.a%3Da", nil)
	for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		if r := h.send("GET", all, "", "Accept", accept); r.code != http.StatusOK {
			t.Fatalf("listing: %d %s", r.code, r.body)
		}
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/example.com/v1"} {
		if r := h.send("GET", path, ""); r.code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.code, r.body)
		}
	}
}
