package check

import (
	"fmt"
	"strings"
	"testing"
)

// The culprits of a check are the objects that make it false.
func TestCulprits(t *testing.T) {
	t.Parallel()
	var pods, nodes []any
	for i, phase := range []string{"Running", "Failed", "Pending", "Running"} {
		pods = append(pods, map[string]any{
			"kind": "Pod", "metadata": map[string]any{"name": fmt.Sprintf("pod-%d", i), "uid": fmt.Sprint(i)},
			"spec": map[string]any{"nodeName": fmt.Sprintf("node-%d", i%2)}, "status": map[string]any{"phase": phase, "restarts": int64(i)},
		})
		nodes = append(nodes, map[string]any{"kind": "Node", "metadata": map[string]any{"name": fmt.Sprintf("node-%d", i)}})
	}
	given := map[string]any{"pods": pods, "nodes": nodes, "limit": int64(1)}
	for text, want := range map[string]string{
		`pods.all(p, p.status.phase == "Running")`:                                "pod/pod-1, pod/pod-2",
		`!pods.exists(p, p.status.phase == "Failed")`:                             "pod/pod-1",
		`pods.exists(p, p.status.phase == "Succeeded")`:                           "pod/pod-0, pod/pod-1, pod/pod-2 and 1 more",
		`pods.filter(p, p.status.phase == "Running").size() >= 3`:                 "pod/pod-1, pod/pod-2",
		`3 <= size(pods.filter(p, p.status.phase == "Running"))`:                  "pod/pod-1, pod/pod-2",
		`pods.filter(p, p.status.phase == "Running").size() <= 1`:                 "pod/pod-0, pod/pod-3",
		`pods.filter(p, p.status.phase == "Running").size() == 4`:                 "pod/pod-1, pod/pod-2",
		`pods.filter(p, p.status.phase == "Running").size() == limit`:             "pod/pod-0, pod/pod-3",
		`pods.filter(p, p.status.restarts > limit).all(p, p.status.phase == "X")`: "pod/pod-2, pod/pod-3",
		// The conditions of inner macros do not matter, which are about other objects.
		`nodes.all(n, pods.exists(p, p.spec.nodeName == n.metadata.name))`: "node/node-2, node/node-3",
		`pods.size() == 3`:                                          "",
		`pods.map(p, p.metadata.name) == ["a"]`:                     "",
		`[1, 2].all(i, i < 2)`:                                      "",
		`pods.filter(p, true).map(p, p.metadata.name) == ["pod-0"]`: "pod/pod-0, pod/pod-1, pod/pod-2 and 1 more",
		`limit == 2 && pods.all(p, has(p.status.none))`:             "pod/pod-0, pod/pod-1, pod/pod-2 and 1 more",
	} {
		got, numeric := culprits(text, &World{}, given)
		if names := strings.TrimPrefix(violatedBy(got), "because of "); names != want {
			t.Errorf("%s: got %q, want %q", text, names, want)
		}
		if sized := strings.Contains(text, "size("); numeric != sized {
			t.Errorf("%s: numeric is %v", text, numeric)
		}
	}
}

// The search of culprits among many objects ends.
func TestCulpritsAmongMany(t *testing.T) {
	t.Parallel()
	var pods []any
	for i := range 3000 {
		pods = append(pods, map[string]any{"kind": "Pod", "metadata": map[string]any{"name": fmt.Sprintf("pod-%04d", i)}})
	}
	text := `pods.all(p, p.metadata.name > "pod-1")`
	if got, _ := culprits(text, &World{}, map[string]any{"pods": pods}); len(got) != maxCulprits {
		t.Errorf("%d culprits", len(got))
	}
}
