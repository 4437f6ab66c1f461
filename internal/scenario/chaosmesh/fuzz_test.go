package chaosmesh_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/scenario/chaosmesh"
)

// Chaos Mesh's objects are accepted or refused, whatever is in them.
func FuzzCheck(f *testing.F) {
	f.Add("apiVersion: chaos-mesh.org/v1alpha1\nkind: PodChaos\nmetadata: {name: a}\nspec: {action: pod-kill, mode: one, selector: {namespaces: [default]}}")
	f.Add("apiVersion: chaos-mesh.org/v1alpha1\nkind: Schedule\nmetadata: {name: a}\nspec: {schedule: '@every 1m', type: PodChaos, podChaos: {action: pod-failure, mode: all, duration: 30s}}")
	f.Add("apiVersion: chaos-mesh.org/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {entry: e, templates: [{name: e, templateType: Serial, children: [e]}]}")
	f.Fuzz(func(_ *testing.T, manifest string) {
		object := map[string]any{}
		if yaml.Unmarshal([]byte(manifest), &object) != nil {
			return
		}
		_ = chaosmesh.Check(&unstructured.Unstructured{Object: object})
	})
}
