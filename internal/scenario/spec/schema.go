package spec

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Describer says how the schema names and describes the caller's types.
type Describer struct {
	// Name is the name of a type's definition.
	Name func(t reflect.Type) string
	// Text describes a field of a type; the empty field is the type itself.
	Text func(t reflect.Type, field string) string
}

// Schema is the JSON schema (draft 2020-12) of a scenario file's documents, as the Go
// types and the table of step kinds say it.
func Schema(kinds []StepKind, describe Describer) map[string]any {
	s := &schema{kinds: kinds, describe: describe, defs: map[string]any{}}
	scenario, steps := s.of(reflect.TypeFor[Scenario]()), s.of(reflect.TypeFor[stepsDocument]())
	for name, kind := range map[string]string{"Scenario": Kind, "StepsDocument": KindSteps} {
		def, _ := s.defs[name].(map[string]any)
		properties, _ := def["properties"].(map[string]any)
		properties["apiVersion"] = map[string]any{"const": APIVersion}
		properties["kind"] = map[string]any{"const": kind}
		def["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	}
	s.oneOf("Step", stepKindNames(kinds))
	s.oneOf("Invariant", []string{"always", "eventually", "never"})
	s.require("Spec", "steps")
	s.require("StepsSpec", "steps")
	s.require("Metadata", "name")
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "A scenario of minikcm",
		"oneOf":   []any{scenario, steps},
		"$defs":   s.defs,
	}
}

// schema collects the definitions of types.
type schema struct {
	kinds    []StepKind
	describe Describer
	defs     map[string]any
}

func (s *schema) require(name string, fields ...string) {
	if def, ok := s.defs[name].(map[string]any); ok {
		def["required"] = fields
	}
}

// oneOf says that exactly one of some fields is set.
func (s *schema) oneOf(name string, fields []string) {
	def, ok := s.defs[name].(map[string]any)
	if !ok {
		return
	}
	var options []any
	for _, field := range fields {
		options = append(options, map[string]any{"required": []string{field}})
	}
	def["oneOf"] = options
}

// variablePattern matches the variable that may stand in place of any value that is not text.
const variablePattern = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

// orVariable is a schema that a variable fits too.
func orVariable(of map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{of, map[string]any{"type": "string", "pattern": variablePattern}}}
}

// of is the schema of a type.
func (s *schema) of(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case reflect.Bool:
		return orVariable(map[string]any{"type": "boolean"})
	case reflect.Int, reflect.Int32, reflect.Int64:
		if isDuration(t) {
			return duration()
		}
		return orVariable(map[string]any{"type": "integer"})
	case reflect.Uint64:
		return orVariable(map[string]any{"type": "integer", "minimum": 0})
	case reflect.Float64:
		return orVariable(map[string]any{"type": "number"})
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		values := s.of(t.Elem())
		if t.Elem().Kind() == reflect.Pointer { // of a variable: it must be given
			values["type"] = []string{"string", "number", "boolean", "null"}
		}
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": values}
	case reflect.Struct:
		return s.structure(t)
	}
	return map[string]any{}
}

func isDuration(t reflect.Type) bool {
	return t.Name() == "Duration"
}

func duration() map[string]any {
	return orVariable(map[string]any{"type": []string{"string", "integer"}, "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`, "maximum": 0})
}

// structure refers to the definition of a struct.
func (s *schema) structure(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[Object]():
		return map[string]any{"type": "object", "properties": map[string]any{
			"apiVersion": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"}, "metadata": map[string]any{"type": "object"},
		}}
	case t == reflect.TypeFor[Body]():
		return s.of(reflect.TypeFor[[]Step]())
	}
	name := s.describe.Name(t)
	reference := map[string]any{"$ref": "#/$defs/" + name}
	if _, known := s.defs[name]; known {
		return reference
	}
	properties := map[string]any{}
	def := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	s.defs[name] = def
	if text := s.describe.Text(t, ""); text != "" {
		def["description"] = text
	}
	fields := fieldsOf(t)
	for field, index := range fields {
		f := t.FieldByIndex(index)
		property := s.of(f.Type)
		if text := s.describe.Text(declaring(t, index), f.Name); text != "" {
			property["description"] = text
		}
		properties[field] = property
	}
	if t == reflect.TypeFor[Step]() {
		for _, kind := range s.kinds {
			properties[kind.Name()] = s.of(reflect.TypeOf(kind.New()))
		}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[scalarReader]()) {
		delete(s.defs, name) // it may be written in other ways too
		return map[string]any{}
	}
	return reference
}

// declaring is the struct that declares a field: t, or one that is inlined in it.
func declaring(t reflect.Type, index []int) reflect.Type {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
	}
	return t
}
