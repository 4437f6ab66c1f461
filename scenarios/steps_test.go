package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// runFiles runs the scenario of a.yaml in a folder of these files.
func runFiles(t *testing.T, set map[string]string, files map[string]string) (*Result, *transcript) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Load(filepath.Join(dir, "a.yaml"), set)
	if err != nil {
		t.Fatal(err)
	}
	return runFound(t, found, Options{Set: set})
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {color: blue}\n"

// Each of the steps that reach beyond the file does what it says.
func TestSteps(t *testing.T) {
	t.Parallel()
	const first = "\n  cluster: {nodes: 1}\n  steps:\n"
	for name, files := range map[string]map[string]string{
		"variables": {"a.yaml": header + "  vars: {COLOR: blue, SIZE: '3'}" + first + "    - expect: {cel: [\"vars.COLOR == 'blue' && vars.SIZE == '4'\"]}\n"},
		"script": {"a.yaml": header + "  vars: {COLOR: blue, SIZE: '3'}" + first + `    - script: {run: 'echo "$COLOR $SIZE"; test -s "$KUBECONFIG"', output: [blue 4]}
    - script: {run: exit 3, fails: true}
`},
		"choose": {"a.yaml": header + "  vars: {SIZE: '3'}" + first + `    - choose:
        count: 2
        of:
          - steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {made: here}}}]}}]
          - steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, labels: {made: here}}}]}}]
          - steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {made: here}}}]}}]
    - expect: {counts: [{target: configmaps, selector: made=here, equals: 2}]}
`},
		"include": {
			"a.yaml":       header + "  vars: {SIZE: '3'}" + first + "    - include: {file: parts/b.yaml, vars: {NAME: a}}\n    - expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {color: blue}}]}\n",
			"parts/b.yaml": "apiVersion: minikcm.dev/v1alpha1\nkind: Steps\nspec:\n  vars: {NAME: ~}\n  steps: [{apply: {files: [c.yaml], template: true}}]\n",
			"parts/c.yaml": strings.Replace(configMap, "name: a", `name: "${NAME}"`, 1),
		},
		"nodes": {"a.yaml": header + "  vars: {SIZE: '3'}\n  cluster: {nodes: 0}\n  steps:\n" + `    - apply: {objects: [{apiVersion: v1, kind: Node, metadata: {name: a}}]}
    - apply: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: nginx}]}}]}
    - wait: {target: pod/p, for: condition=Ready}
    - fault: {nodes: {action: delete, names: [a]}}
    - wait: {target: pod/p, for: delete}
`},
		"nodes that are not simulated": {"a.yaml": header + "  vars: {SIZE: '3'}\n  cluster: {nodes: 0, manageAllNodes: false}\n  steps:\n" + `    - apply: {objects: [{apiVersion: v1, kind: Node, metadata: {name: a}}]}
    - wait: {target: node/a, for: condition=Ready=Unknown, within: 2m}
`},
		"kustomize": {
			"a.yaml":                  header + "  vars: {SIZE: '3'}" + first + "    - apply: {kustomize: [base]}\n    - expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: my-a}, data: {color: blue}}]}\n",
			"base/kustomization.yaml": "namePrefix: my-\nresources: [b.yaml]\n",
			"base/b.yaml":             configMap,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if result, tr := runFiles(t, map[string]string{"SIZE": "4"}, files); result.Failure != nil {
				t.Errorf("it fails:\n%s", tr)
			}
		})
	}
}

// Each mistake in a fault is reported with its line, before anything starts.
func TestBadFaults(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, text := range []string{
		"{}", "{pods: {action: kill}, nodes: {action: crash}}", "{pods: {action: dance}}", "{pods: {action: kill, selector: 'app in'}}",
		"{pods: {action: kill, percent: 120}}", "{pods: {action: kill, count: 1, all: true}}", "{pods: {action: kill}, for: 1m}", "{pods: {action: crash, grace: 1s}}",
		"{nodes: {action: pressure, pressure: air}}", "{nodes: {action: taint, taint: a}}", "{nodes: {action: slow}}", "{apiserver: {action: latency}}",
		"{apiserver: {action: error, code: 200}}", "{apiserver: {action: error, verbs: [look]}}", "{etcd: {action: slow}}", "{etcd: {action: noSpace, operations: [reads]}}",
		"{etcd: {action: unavailable, operations: [looks]}}", "{controllers: {action: pause, names: [gardener]}}", "{controllers: {action: slow}}", "{clock: {action: jump}}",
		"{clock: {action: skew, by: 1m}}", "{pods: {action: kill}, every: 10s, schedule: '* * * * *'}", "{pods: {action: kill}, schedule: often}", "{pods: {action: kill}, jitter: 20}",
		"{pods: {action: kill}, times: 3}", "{pods: {action: kill}, schedule: '0 0 31 2 *'}", "{apiserver: {action: tooManyRequests, retryAfter: -1}}", "{pods: {action: kill}, every: soon}", "{pods: {action: kill, colour: red}}", "{disk: {action: full}}",
	} {
		_, err := Parse("scenario.yaml", []byte(header+"  steps:\n    - fault: "+text+"\n"), nil)
		var problems spec.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: got %v", text, err)
			continue
		}
		out.WriteString(text + "\n  " + withoutControllers(strings.ReplaceAll(problems.Error(), "\n", "\n  ")) + "\n")
	}
	golden.Compare(t, "testdata/bad-faults.golden", out.String())
}

// What a scenario does itself takes its time too while etcd is slow, and time passes.
func TestStepsAgainstSlowEtcd(t *testing.T) {
	t.Parallel()
	result, tr := runScenario(t, header+`
  cluster: {nodes: 1}
  steps:
    - fault: {etcd: {action: slow, delay: 2s}}
    - apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {color: blue}}]}
    - parallel:
        - patch: {target: cm/a, patch: {data: {color: red}}}
        - patch: {target: cm/a, patch: {data: {size: "3"}}}
        - sleep: 30s
    - expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {color: red, size: "3"}}]}
    - delete: {target: cm/a}
`, Options{})
	if result.Failure != nil || result.Cluster < 34*time.Second {
		t.Errorf("it took %v:\n%s", result.Cluster, tr)
	}
}

// What a background step does is reported while the other steps go on: which node a
// count of 1 hit, for example.
func TestBackgroundNotes(t *testing.T) {
	t.Parallel()
	result, tr := runScenario(t, header+`  steps:
    - {background: true, fault: {nodes: {action: crash, count: 1}, for: 30s}}
    - sleep: 1m`, Options{})
	if result.Failure != nil {
		t.Fatal(result.Failure)
	}
	want := []string{
		"crash 1 of the nodes for 30s (in the background): node/node-2 crashed",
		"crash 1 of the nodes for 30s (in the background): node/node-2 is back",
		"crash 1 of the nodes for 30s (in the background): over: crash 1 of the nodes",
	}
	if diff := cmp.Diff(want, tr.behind); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
