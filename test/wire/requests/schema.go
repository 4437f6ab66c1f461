package requests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// Schemas are the schemas of OpenAPI v3 documents, by name.
type Schemas map[string]map[string]any

// Add adds the schemas of a document.
func (s Schemas) Add(document []byte) error {
	var parsed struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return fmt.Errorf("reading an OpenAPI document: %w", err)
	}
	maps.Copy(s, parsed.Components.Schemas)
	return nil
}

// of returns the schema of a kind, or nil.
func (s Schemas) of(k *Kind) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		kinds, _ := s[name]["x-kubernetes-group-version-kind"].([]any)
		for _, of := range kinds {
			if gvk, _ := of.(map[string]any); len(kinds) == 1 && gvk["kind"] == k.Kind && gvk["group"] == k.Group && gvk["version"] == k.Version {
				return s[name]
			}
		}
	}
	return nil
}

// resolve follows a reference.
func (s Schemas) resolve(schema map[string]any) map[string]any {
	if all, ok := schema["allOf"].([]any); ok && len(all) == 1 {
		schema, _ = all[0].(map[string]any)
	}
	if ref, ok := schema["$ref"].(string); ok {
		return s[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return schema
}

// maxMistakes limits the mistakes for one kind, maxDepth where they are.
const (
	maxMistakes = 60
	maxDepth    = 3
)

// types creates objects with values of wrong types, in each field that the schema names.
func (k *Kind) types(m Manifest, schemas Schemas) exchange.Case {
	c := exchange.Case{Name: k.ID() + "/types"}
	schema := schemas.of(k)
	if schema == nil {
		return c
	}
	k.mistakes(&c, m, schemas, schema, nil)
	return c
}

func (k *Kind) mistakes(c *exchange.Case, m Manifest, schemas Schemas, schema map[string]any, path []string) {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(c.Requests) >= maxMistakes || name == "metadata" && len(path) == 0 {
			continue
		}
		property, _ := properties[name].(map[string]any)
		property = schemas.resolve(property)
		at := append(slices.Clone(path), name)
		for _, wrong := range wrongValues(property) {
			object := k.Object(m)
			set(object, at, wrong)
			c.Add(post(strings.Join(at, ".")+" "+text(wrong), k.List()+"?dryRun=All", text(object)))
		}
		if len(at) < maxDepth {
			k.mistakes(c, m, schemas, property, at)
		}
	}
}

// wrongValues returns values that a field does not have.
func wrongValues(schema map[string]any) []any {
	switch schema["type"] {
	case "string":
		return []any{1}
	case "integer":
		return []any{"x", 1.5, json.Number("99999999999999999999")}
	case "number":
		return []any{"x"}
	case "boolean":
		return []any{"true"}
	case "array":
		return []any{map[string]any{}, []any{json.Number("7")}}
	case "object":
		return []any{[]any{}, "x"}
	}
	return []any{[]any{}}
}

// set sets a field of an object, with the objects around it.
func set(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		object = field(object, name)
	}
	object[path[len(path)-1]] = value
}
