package scenarios

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// So many pods change at the same instant that not all of their kubelets' work is done
// when the next thing happens to them.
const manyPods = header + `  timeout: 1h
  cluster: {nodes: 5}
  steps:
    - apply:
        objects:
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 250
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: web, image: nginx, ports: [{name: http, containerPort: 80}]}]}
    - wait: {target: deployment/web, for: rollout}
    - kill: {pods: {selector: app=web, count: 120}}
    - sleep: 10s
    - fault: {pods: {action: notReady, selector: app=web, count: 90}, for: 1m}
    - scale: {target: deployment/web, replicas: 130}
    - wait: {target: pods, selector: app=web, for: count=130}
    - kill: {node: node-1}
    - sleep: 10m
`

// contentsOf runs a scenario and returns its writes and the final objects of some kinds.
func contentsOf(t *testing.T, text string, seed uint64, kinds ...schema.GroupVersionResource) (lines []string) {
	t.Helper()
	found, err := Parse("scenario.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran(t, found[0], Options{Seed: seed}, func(w *world) {
		lines = writesOf(w)
		for _, kind := range kinds {
			list, err := w.dynamic.Resource(kind).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				data, err := json.MarshalIndent(list.Items[i].Object, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, strings.Split(string(data), "\n")...)
			}
		}
	})
	return lines
}

// Whose turn comes when does not depend on which goroutine was faster, however much
// happens at once.
func TestSameSeedManyPods(t *testing.T) {
	t.Parallel()
	kinds := []schema.GroupVersionResource{
		{Version: "v1", Resource: "nodes"},
		{Version: "v1", Resource: "pods"},
	}
	first := contentsOf(t, manyPods, 7, kinds...)
	for n := 2; n <= *runs; n++ {
		again := contentsOf(t, manyPods, 7, kinds...)
		for i := range max(len(first), len(again)) {
			if i >= len(first) || i >= len(again) || first[i] != again[i] {
				// All the rest differs, too.
				t.Fatalf("run %d differs from the first one at line %d:\n%s", n, i, cmp.Diff(near(first, i), near(again, i)))
			}
		}
	}
}

// near returns the lines around line i, up to 20 on each side.
func near(lines []string, i int) []string {
	return lines[min(max(i-20, 0), len(lines)):min(i+20, len(lines))]
}
