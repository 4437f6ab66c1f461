package scenarios

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed schema.json
var schemaFile string

// Schema returns the JSON schema of scenario files, for editors and generators.
func Schema() string { return schemaFile }

// descriptions are the schema's descriptions of fields, by definition.
var descriptions = sync.OnceValue(func() map[string]map[string]string {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Description string }
		} `json:"$defs"`
	}
	_ = json.Unmarshal([]byte(schemaFile), &schema) // a test generates it
	all := map[string]map[string]string{}
	for name, def := range schema.Defs {
		all[name] = map[string]string{}
		for field, property := range def.Properties {
			all[name][field] = property.Description
		}
	}
	return all
})

// Describe returns the schema's description of a field of a definition, such as the field
// delay of FaultNodes; empty if there is no such field.
func Describe(definition, field string) string { return descriptions()[definition][field] }
