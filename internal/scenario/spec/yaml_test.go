package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

// Anchors and merge keys are replaced by the nodes that they name, in steps and in objects. A
// mapping's own fields take precedence over merged ones, and an earlier mapping over a later one.
func TestMergeKeys(t *testing.T) {
	found, err := Parse("merged.yaml", []byte(`
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: merged}
spec:
  vars: {SIX: "6"}
  steps:
    - apply:
        objects:
          - {apiVersion: v1, kind: ConfigMap, metadata: &meta {name: a}, data: &data {one: "1", two: "2"}}
          - {apiVersion: v1, kind: ConfigMap, metadata: {<<: *meta, name: b}, data: {<<: [{two: "4", "<<": "5"}, *data], six: "${SIX}"}}
    - wait: &wait {target: cm/a, for: create}
    - wait: {<<: *wait, target: cm/b}
`), testOptions)
	if err != nil {
		t.Fatal(err)
	}
	steps := found[0].Spec.Steps
	if w := valueOf[testWait](steps[2]); w.Target != "cm/b" || w.For != "create" || valueOf[testWait](steps[1]).Target != "cm/a" {
		t.Errorf("the second wait is %+v", w)
	}
	data, err := json.Marshal(valueOf[testApply](steps[0]).Objects[1].Object["data"])
	if want := `{"\u003c\u003c":"5","one":"1","six":"6","two":"4"}`; err != nil || string(data) != want {
		t.Errorf("got %s (%v), want %s", data, err, want)
	}
	if name := valueOf[testApply](steps[0]).Objects[1].GetName(); name != "b" {
		t.Errorf("the second object is called %s", name)
	}
}

// A large document is no bomb.
func TestLargeDocument(t *testing.T) {
	text := "apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: large}\nspec:\n  steps:\n" +
		strings.Repeat("    - sleep: 1ms\n", 10_000)
	found, err := Parse("large.yaml", []byte(text), testOptions)
	if err != nil || len(found[0].Spec.Steps) != 10_000 {
		t.Fatal(err)
	}
}

// A variable that stands in quotes, as it must within {}, is a number where one is wanted.
func TestQuotedVariables(t *testing.T) {
	found, err := Parse("vars.yaml", []byte(`
apiVersion: minikcm.dev/v1alpha1
kind: Scenario
metadata: {name: vars}
spec:
  vars: {N: 3}
  cluster: {nodes: "${N}", seed: "${N}"}
  steps:
    - {scale: {target: deployment/web, replicas: "${N}"}}
    - apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: "${N}"}}]}
`), testOptions)
	if err != nil {
		t.Fatal(err)
	}
	s := found[0].Spec
	if *s.Cluster.Nodes != 3 || s.Cluster.Seed != 3 || *valueOf[testScale](s.Steps[0]).Replicas != 3 {
		t.Errorf("got %+v, %+v", s.Cluster, valueOf[testScale](s.Steps[0]))
	}
	if n := valueOf[testApply](s.Steps[1]).Objects[0].Object["data"].(map[string]any)["n"]; n != "3" {
		t.Errorf("the text in the object is %#v", n)
	}
}
