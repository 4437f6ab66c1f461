package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm"
)

// TestStagesWithoutEnd reads a file whose size says nothing.
func TestStagesWithoutEnd(t *testing.T) {
	if _, err := minikcm.ReadStages([]string{"/dev/zero"}); err == nil || !strings.Contains(err.Error(), "the file is larger than") {
		t.Errorf("%v", err)
	}
}

// TestStagesWithMistakes starts nothing when a file of --stages has a mistake, and names it.
func TestStagesWithMistakes(t *testing.T) {
	usage := func(name, value string) string {
		return "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ResourceUsage\nmetadata: {name: " + name + "}\nspec: {usages: [{usage: {cpu: " + value + "}}]}\n"
	}
	for content, want := range map[string]string{
		usage("a", "{value: much}"): "a.yaml: document 1: ResourceUsage a: spec.usages[0].usage.cpu.value: \"much\" is not a quantity",
		usage("a", "{value: 1}") + "---\n" + usage("b", "{expression: pod.speck}"): "a.yaml: document 2: ResourceUsage b: spec.usages[0].usage.cpu.expression: ",
		usage("a", "{value: 1}") + "---\n" + usage("a", "{value: 2}"):              "ResourceUsage default/a is also in ",
		"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Exec\nmetadata: {name: a}\n":    "only Stage, ResourceUsage, ClusterResourceUsage and Metric have effect",
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, out := call("up", "--stages", file); code != 2 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %q, want %q", code, out, want)
		}
	}
}
