package stages

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed definition.yaml
var definition []byte

// Definition returns a CustomResourceDefinition of Stages.
func Definition() (map[string]any, error) {
	var object map[string]any
	if err := yaml.Unmarshal(definition, &object); err != nil {
		return nil, fmt.Errorf("decoding the definition of Stages: %w", err)
	}
	return object, nil
}
