package scenarioapi

import (
	"encoding/json"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// places are the paths of the items of lists by the line on which they begin: problems of a step that is
// well-formed have its line, and a field within the step.
type places map[int]string

// documentOf returns a scenario with a spec, as a document in YAML in which each item of a list begins a
// line. If the spec does not describe the cluster, any will do.
func documentOf(name string, scenario json.RawMessage) ([]byte, places, error) {
	content := map[string]any{"cluster": map[string]int{"nodes": 0}}
	if err := json.Unmarshal(scenario, &content); err != nil {
		return nil, nil, fmt.Errorf("decoding the scenario: %w", err)
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": spec.APIVersion, "kind": spec.Kind, "metadata": map[string]string{"name": name}, "spec": content,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the scenario: %w", err)
	}
	text, err := yaml.JSONToYAML(data)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the scenario: %w", err)
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, nil, fmt.Errorf("encoding the scenario: %w", err)
	}
	found := places{}
	for _, content := range document.Content {
		found.add(content, "")
	}
	return text, found, nil
}

func (p places) add(node *yamlv3.Node, path string) {
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			p.add(node.Content[i+1], strings.TrimPrefix(path+"."+node.Content[i].Value, "."))
		}
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			of := fmt.Sprintf("%s[%d]", path, i)
			if _, known := p[item.Line]; !known {
				p[item.Line] = of
			}
			p.add(item, of)
		}
	}
}

// fieldOf returns the field of a problem in the scenario at a path.
func (p places) fieldOf(at *field.Path, problem spec.Problem) string {
	path := problem.Field
	if path != "spec" && !strings.HasPrefix(path, "spec.") {
		within := p[problem.Line]
		if within == "" {
			within = "spec"
		}
		path = strings.TrimSuffix(within+"."+path, ".")
	}
	return at.String() + strings.TrimPrefix(path, "spec")
}
