package scenarios

import (
	"encoding/json"
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/golden"
)

// jsonSchema has what the conversion needs of a JSON Schema.
type jsonSchema struct {
	Ref         string                 `json:"$ref"`
	Type        any                    `json:"type"`
	AnyOf       []*jsonSchema          `json:"anyOf"`
	Items       *jsonSchema            `json:"items"`
	Description string                 `json:"description"`
	Properties  map[string]*jsonSchema `json:"properties"`
}

// structural is a schema of a CustomResourceDefinition.
type structural struct {
	Type        string                 `json:"type,omitempty"`
	Description string                 `json:"description,omitempty"`
	Items       *structural            `json:"items,omitempty"`
	Properties  map[string]*structural `json:"properties,omitempty"`
	Preserve    bool                   `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
}

// TestFaultSpecIsFresh compares the schema of the spec of a Fault with the schema of scenarios, from which
// it is generated. Objects preserve unknown fields, because the check of a fault has better messages.
func TestFaultSpecIsFresh(t *testing.T) {
	var all struct {
		Defs map[string]*jsonSchema `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(generatedSchema(t)), &all); err != nil {
		t.Fatal(err)
	}
	spec := structuralOf(all.Defs, all.Defs["Fault"])
	spec.Description = `spec has the fields of the step "fault" of a scenario: one that says what is broken, such as nodes, and the others when and for how long. It cannot be changed.`
	data, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../internal/scenario/faultapi/spec.json", string(data)+"\n")
}

// TestScenarioSpecIsFresh compares the schema of spec.scenario of a ScenarioRun with the schema of scenarios. It
// describes two levels, for kubectl explain, and no types: steps contain steps, which a structural schema cannot
// say, and any value may be a variable.
func TestScenarioSpecIsFresh(t *testing.T) {
	var all struct {
		Defs map[string]*jsonSchema `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(generatedSchema(t)), &all); err != nil {
		t.Fatal(err)
	}
	spec := outline(all.Defs, all.Defs["Spec"])
	spec.Description = `scenario has the fields of "spec" of a scenario (docs/scenarios.md), such as steps.`
	steps := spec.Properties["steps"]
	steps.Type, steps.Preserve, steps.Items = "array", false, outline(all.Defs, all.Defs["Step"])
	data, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../internal/scenarioapi/scenario.json", string(data)+"\n")
}

// outline returns a schema that describes the fields of an object.
func outline(defs map[string]*jsonSchema, s *jsonSchema) *structural {
	out := &structural{Type: "object", Preserve: true, Properties: map[string]*structural{}}
	for name, property := range s.Properties {
		text := property.Description
		if property.Ref != "" && text == "" {
			text = defs[property.Ref[strings.LastIndex(property.Ref, "/")+1:]].Description
		}
		out.Properties[name] = &structural{Preserve: true, Description: named(name, text)}
	}
	return out
}

func structuralOf(defs map[string]*jsonSchema, s *jsonSchema) *structural {
	if s.Ref != "" {
		return structuralOf(defs, defs[s.Ref[strings.LastIndex(s.Ref, "/")+1:]])
	}
	out := &structural{Type: "string", Description: s.Description}
	kinds := s.kinds()
	switch {
	case len(s.Properties) > 0:
		out.Type, out.Preserve, out.Properties = "object", true, map[string]*structural{}
		for name, property := range s.Properties {
			of := structuralOf(defs, property)
			of.Description = named(name, of.Description)
			out.Properties[name] = of
		}
	case kinds["array"]:
		out.Type, out.Items = "array", structuralOf(defs, s.Items)
	case kinds["string"] && len(s.AnyOf) == 0:
	case len(s.AnyOf) > 0 && !s.AnyOf[0].kinds()["string"]: // or a variable of a scenario
		out.Type = s.AnyOf[0].Type.(string)
	}
	return out
}

// kinds returns the types of a value.
func (s *jsonSchema) kinds() map[string]bool {
	kinds := map[string]bool{}
	switch t := s.Type.(type) {
	case string:
		kinds[t] = true
	case []any:
		for _, one := range t {
			kinds[one.(string)] = true
		}
	}
	return kinds
}

// named begins a description with the name of the field as it is in JSON.
func named(name, text string) string {
	if first, rest, _ := strings.Cut(text, " "); strings.EqualFold(first, name) {
		return name + " " + rest
	}
	return text
}
