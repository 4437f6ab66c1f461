package stages

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkPod chooses a Stage for a pod and renders its template.
func BenchmarkPod(b *testing.B) {
	data, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var all []*Stage
	for _, document := range strings.Split(string(data), "\n---\n") {
		s, err := Parse([]byte(document))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, s)
	}
	set := NewSet(all)
	env := &Env{Now: now, Random: dice{}, NodeIPs: func(string) []string { return []string{"1"} }, PodIPs: func(string, string) ([]string, error) { return []string{"2"}, nil }}
	content := objectOf(b, `{metadata: {name: p, uid: u}, spec: {nodeName: node-0, containers: [{name: c, image: i}]}, status: {phase: Pending}}`).Content
	for b.Loop() {
		o := &Object{Content: content}
		stage, err := set.Choose(set.Kinds()[0], o, now, dice{})
		if err != nil || stage == nil {
			b.Fatal(stage, err)
		}
		if _, err := stage.Actions(o, env); err != nil {
			b.Fatal(err)
		}
	}
}
