package scenarios

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed schema.json
var schemaFile string

// Schema is the JSON schema of scenario files, for editors and for whoever makes them.
func Schema() string { return schemaFile }

// descriptions are what the schema says of fields, by the definition that they are of.
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

// Describe returns what the schema says of a field of one of its definitions, such as the
// field delay of FaultNodes; empty if it has no such field.
func Describe(definition, field string) string { return descriptions()[definition][field] }
