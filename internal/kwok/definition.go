package kwok

import (
	"bytes"
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/stages"
)

//go:embed definitions.yaml
var definitions []byte

// Definitions returns CustomResourceDefinitions of the kinds of these manifests.
func Definitions(of []Manifest) ([]map[string]any, error) {
	needed := map[string]bool{}
	for i := range of {
		needed[of[i].Kind] = true
	}
	var all []map[string]any
	if needed[stages.Kind] {
		d, err := stages.Definition()
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	for text := range bytes.SplitSeq(definitions, []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("decoding the definitions of kwok's kinds: %w", err)
		}
		if kind, _, _ := unstructured.NestedString(object, "spec", "names", "kind"); needed[kind] {
			all = append(all, object)
		}
	}
	return all, nil
}

// ResourceOf returns the resource of a kind, and whether it has namespaces.
func ResourceOf(kind string) (resource string, namespaced bool) {
	switch kind {
	case stages.Kind:
		return stages.Resource, false
	case KindResourceUsage:
		return ResourceUsages, true
	case KindClusterResourceUsage:
		return ClusterResourceUsages, false
	}
	return MetricResources, false
}
