package scenarios

import _ "embed"

//go:embed schema.json
var schemaFile string

// Schema is the JSON schema of scenario files, for editors and for whoever makes them.
func Schema() string { return schemaFile }
