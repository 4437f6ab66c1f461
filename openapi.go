package minikcm

import (
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"sigs.k8s.io/yaml"
)

// openAPIPath serves the OpenAPI document of the paths beneath /minikcm/v1.
const openAPIPath = ownPath + "/openapi.json"

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI returns the OpenAPI 3 document, in JSON, of what "minikcm up" serves beneath
// /minikcm/v1. Another cluster serves what its Info lists.
var OpenAPI = sync.OnceValues(func() ([]byte, error) {
	data, err := yaml.YAMLToJSON(openAPIYAML)
	if err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	return data, nil
})

func serveOpenAPI(w http.ResponseWriter) {
	data, err := OpenAPI()
	if err != nil {
		WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // fails only if the client is gone
}
