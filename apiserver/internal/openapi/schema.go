package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Extensions that Kubernetes clients and server-side apply read.
const (
	extListType      = "x-kubernetes-list-type"
	extListMapKeys   = "x-kubernetes-list-map-keys"
	extMapType       = "x-kubernetes-map-type"
	extPatchStrategy = "x-kubernetes-patch-strategy"
	extPatchMergeKey = "x-kubernetes-patch-merge-key"
	extUnions        = "x-kubernetes-unions"
)

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// schemaBuilder builds the schema of one struct type.
type schemaBuilder struct {
	*definitions
	// model is the name of the type's model.
	model        string
	dependencies map[string]bool
	required     []string
}

func (b *schemaBuilder) build(t reflect.Type) (common.OpenAPIDefinition, error) {
	schema := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: swaggerDoc(t)[""],
		Type:        []string{"object"},
	}}
	properties := map[string]spec.Schema{}
	if err := b.addFields(t, properties); err != nil {
		return common.OpenAPIDefinition{}, err
	}
	if len(properties) > 0 {
		schema.Properties = properties
	}
	schema.Required = b.required
	marker := b.markers.of(typeName(t))
	if marker.mapType != "" {
		schema.AddExtension(extMapType, marker.mapType)
	}
	if marker.union {
		schema.AddExtension(extUnions, []any{union(t, marker)})
	}
	return common.OpenAPIDefinition{Schema: schema, Dependencies: slices.Sorted(maps.Keys(b.dependencies))}, nil
}

// addFields adds the properties of a struct, including the properties of its inlined structs.
func (b *schemaBuilder) addFields(t reflect.Type, properties map[string]spec.Schema) error {
	doc, marker := swaggerDoc(t), b.markers.of(typeName(t))
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, inline := jsonTag(f)
		switch {
		case inline:
			if err := b.addFields(indirect(f.Type), properties); err != nil {
				return err
			}
			continue
		case name == "" || b.isLacking(b.model, name):
			continue
		}
		m := marker.fields[name]
		omitempty := slices.Contains(options, "omitempty")
		if m.required || !omitempty && !m.optional {
			b.required = append(b.required, name)
		}
		property, err := b.property(f, m, doc[name], omitempty, slices.Contains(options, "string"))
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		properties[name] = property
	}
	return nil
}

func (b *schemaBuilder) property(f reflect.StructField, m fieldMarker, doc string, omitempty, quoted bool) (spec.Schema, error) {
	property := spec.Schema{SchemaProps: spec.SchemaProps{Description: doc}}
	if values := b.markers.enums[typeName(indirect(f.Type))]; len(values) > 0 {
		property.Description += enumDoc(values)
	}
	addFieldExtensions(&property, f, m)
	if quoted {
		property.Type = []string{"string"}
		return property, nil
	}
	property.Default = b.fallback(f.Type, m, omitempty)
	return property, b.fillType(&property, f.Type)
}

func addFieldExtensions(property *spec.Schema, f reflect.StructField, m fieldMarker) {
	for _, ext := range []struct{ name, value string }{
		{extListType, m.listType},
		{extMapType, m.mapType},
		{extPatchStrategy, f.Tag.Get("patchStrategy")},
		{extPatchMergeKey, f.Tag.Get("patchMergeKey")},
	} {
		if ext.value != "" {
			property.AddExtension(ext.name, ext.value)
		}
	}
	if len(m.listKeys) > 0 {
		keys := make([]any, len(m.listKeys))
		for i, k := range m.listKeys {
			keys[i] = k
		}
		property.AddExtension(extListMapKeys, keys)
	}
}

// fillType sets the schema of Go type t, a reference for struct types.
func (b *schemaBuilder) fillType(s *spec.Schema, t reflect.Type) error {
	plain := indirect(t)
	switch plain.Kind() {
	case reflect.Struct:
		name := modelName(plain)
		if err := b.addType(plain); err != nil {
			return err
		}
		b.dependencies[name] = true
		s.Ref = b.ref(name)
		return nil
	case reflect.Map:
		s.Type = []string{"object"}
		element := &spec.Schema{}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: element}
		return b.fillType(element, plain.Elem())
	case reflect.Slice, reflect.Array:
		if plain.Elem().Kind() == reflect.Uint8 {
			break
		}
		s.Type = []string{"array"}
		element := &spec.Schema{}
		s.Items = &spec.SchemaOrArray{Schema: element}
		return b.fillType(element, plain.Elem())
	case reflect.Interface:
		return nil
	}
	kind, format := common.OpenAPITypeFormat(basicName(plain))
	if kind == "" {
		return fmt.Errorf("type %v cannot be described", t)
	}
	s.Type, s.Format = []string{kind}, format
	for _, v := range b.markers.enums[typeName(plain)] {
		s.Enum = append(s.Enum, v)
	}
	return nil
}

// fallback returns the default that a decoder sets: the marked one, or the zero value
// of a field that cannot be omitted.
func (b *schemaBuilder) fallback(t reflect.Type, m fieldMarker, omitempty bool) any {
	if m.fallback != nil {
		return m.fallback
	}
	if marked := b.markers.of(typeName(indirect(t))).fallback; marked != nil {
		return marked
	}
	return zero(t, omitempty)
}

func zero(t reflect.Type, omitempty bool) any {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Array, reflect.Interface:
		return nil
	case reflect.Struct:
		switch {
		case reflect.PointerTo(t).Implements(unmarshalerType):
			// Its zero value is encoded as null.
			return nil
		case t.NumField() == 1 && t.Field(0).Anonymous:
			return zero(t.Field(0).Type, omitempty)
		}
		return map[string]any{}
	}
	if omitempty {
		return nil
	}
	value, _ := common.OpenAPIZeroValue(basicName(t))
	return value
}

func union(t reflect.Type, marker *typeMarker) map[string]any {
	fields, u := map[string]any{}, map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, inline := jsonTag(f)
		switch {
		case inline || name == "":
		case marker.fields[name].discriminator:
			u["discriminator"] = name
		default:
			fields[name] = f.Name
		}
	}
	u["fields-to-discriminateBy"] = fields
	return u
}

func enumDoc(values []string) string {
	var s strings.Builder
	s.WriteString("\n\nPossible enum values:")
	for _, v := range values {
		fmt.Fprintf(&s, "\n - `%q`", v)
	}
	return s.String()
}

// jsonTag parses a field's json tag; the name is "" for fields that are not in JSON.
func jsonTag(f reflect.StructField) (name string, options []string, inline bool) {
	tag, tagged := f.Tag.Lookup("json")
	words := strings.Split(tag, ",")
	switch {
	case tagged && f.Anonymous && words[0] == "":
		return "", nil, true
	case !f.IsExported() || words[0] == "-":
		return "", nil, false
	case !tagged:
		return f.Name, nil, false
	}
	return words[0], words[1:], false
}

func swaggerDoc(t reflect.Type) map[string]string {
	if d, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return d.SwaggerDoc()
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// typeName returns the key of a type in the markers.
func typeName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// basicName returns kube-openapi's name of a type without fields or elements.
func basicName(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "[]byte"
	}
	return t.Kind().String()
}
