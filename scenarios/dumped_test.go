package scenarios_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

// aDump is a Deployment with its ReplicaSet and pods on a node, as kubectl prints them.
const aDump = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: worker, uid: 00000000-0000-0000-0000-000000000001, resourceVersion: "5"}
  status: {capacity: {cpu: "4", memory: 8Gi, pods: "20"}, allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: default, uid: 00000000-0000-0000-0000-000000000002, resourceVersion: "6", generation: 1, annotations: {deployment.kubernetes.io/revision: "1"}}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template: &template
      metadata: {labels: {app: web}}
      spec: {containers: [{name: c, image: nginx}]}
  status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata:
    name: web-5d5
    namespace: default
    uid: 00000000-0000-0000-0000-000000000003
    labels: {app: web, pod-template-hash: 5d5}
    annotations: {deployment.kubernetes.io/revision: "1"}
    ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: 00000000-0000-0000-0000-000000000002, controller: true, blockOwnerDeletion: true}]
  spec:
    replicas: 2
    selector: {matchLabels: {app: web, pod-template-hash: 5d5}}
    template:
      metadata: {labels: {app: web, pod-template-hash: 5d5}}
      spec: {containers: [{name: c, image: nginx}]}
  status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2}
POD a
POD b
`

const aDumpedPod = `- apiVersion: v1
  kind: Pod
  metadata:
    name: web-5d5-NAME
    namespace: default
    uid: 00000000-0000-0000-0000-0000000000NAME
    labels: {app: web, pod-template-hash: 5d5}
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d5, uid: 00000000-0000-0000-0000-000000000003, controller: true, blockOwnerDeletion: true}]
  spec: {nodeName: worker, containers: [{name: c, image: nginx}]}
  status:
    phase: Running
    podIP: 10.244.0.7
    startTime: "2026-01-01T00:00:00Z"
    conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]
    containerStatuses: [{name: c, image: nginx, imageID: x, ready: true, started: true, restartCount: 3, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}]
`

const dumpChecks = `
  - expect:
      given: {pods: {target: pods, selector: app=web}}
      cel:
      - pods.size() == 2
      - pods.all(p, p.spec.nodeName == "worker" && p.metadata.name in ["web-5d5-a", "web-5d5-b"] && p.status.containerStatuses[0].restartCount == 3)
  - advance: 5m
  - expect:
      given: {pods: {target: pods, selector: app=web}, replicaSets: {target: replicasets}, worker: {target: node/worker}}
      cel:
      - pods.size() == 2
      - pods.all(p, p.status.phase == "Running" && p.spec.nodeName == "worker" && p.metadata.name in ["web-5d5-a", "web-5d5-b"])
      - replicaSets.size() == 1
      - worker.status.conditions.exists(c, c.type == "Ready" && c.status == "True")
`

func writeDump(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := strings.ReplaceAll(aDump, "&template", "")
	for _, name := range []string{"a", "b"} {
		text = strings.Replace(text, "POD "+name+"\n", strings.ReplaceAll(aDumpedPod, "NAME", name), 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "dump.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A dump is loaded as it is, into a running cluster by a step and into a new one: no pod is
// made anew.
func TestDump(t *testing.T) {
	for name, text := range map[string]string{
		"step":    "  cluster: {nodes: 1}\n  steps:\n  - apply: {files: [dump.yaml]}" + dumpChecks,
		"cluster": "  cluster: {objects: [dump.yaml], redactSecrets: true}\n  steps:" + dumpChecks,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(writeDump(t), "scenario.yaml")
			all, err := scenarios.Parse(file, []byte("apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: dump}\nspec:\n"+text), nil)
			if err != nil {
				t.Fatal(err)
			}
			result, err := scenarios.Run(t.Context(), all[0], scenarios.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if result.Failure != nil {
				t.Error(result.Failure)
			}
		})
	}
}

// A cluster that begins with a snapshot has the snapshot's nodes, and no others.
func TestSnapshotsNodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "snap.db")
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{
		Nodes: minikcm.NodeOptions{Count: -1, Pools: []minikcm.Pool{{Name: "web", Count: 2}}},
		API:   minikcm.APIOptions{NoHTTPS: true},
		Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual},
		Seed:  1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var snapshot bytes.Buffer
	if err := errors.Join(cluster.Snapshot(t.Context(), &snapshot), cluster.Close(), os.WriteFile(file, snapshot.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for nodes, want := range map[string]int{"": 2, "nodes: 1, ": 3} {
		text := fmt.Sprintf(`{apiVersion: minikcm.dev/v1alpha1, kind: Scenario, metadata: {name: snap}, spec: {cluster: {%ssnapshot: snap.db},
steps: [{advance: 5s}, {expect: {counts: [{target: nodes, equals: %d}]}}]}}`, nodes, want)
		all, err := scenarios.Parse(filepath.Join(filepath.Dir(file), "scenario.yaml"), []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := scenarios.Run(t.Context(), all[0], scenarios.Options{})
		if err != nil || result.Failure != nil {
			t.Errorf("%q: %v, %v", nodes, err, result.Failure)
		}
	}
}
