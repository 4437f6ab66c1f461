package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/stages"
)

// manifests are three nodes with 4 CPUs, a Deployment of 4 pods, a StatefulSet with a
// PodDisruptionBudget, and a DaemonSet.
const manifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: pg, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: agent, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: db}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods, namespace: limited}
spec: {hard: {pods: "3"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: small, namespace: limited}
spec:
  replicas: 1
  selector: {matchLabels: {app: small}}
  template:
    metadata: {labels: {app: small}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 1m}}}]}
`

// fork opens a fork with the manifests.
func fork(t *testing.T) *Fork {
	t.Helper()
	return forkOf(t, manifests)
}

// threeNodes are the manifests of three nodes.
func threeNodes() (text string) {
	for i := range 3 {
		amounts := `{cpu: "4", memory: 16Gi, pods: "20"}`
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {disk: ssd}}\nstatus: {capacity: %s, allocatable: %s}\n", i, amounts, amounts)
	}
	return text
}

// forkOf opens a fork with manifests and three nodes.
func forkOf(t *testing.T, text string) *Fork {
	t.Helper()
	objects, err := dump.Decode([]byte(text+threeNodes()), dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), Options{Objects: dump.New("the test", objects)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if refused := f.Loaded().Refused; len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	return f
}

// Objects without times begin at the same time always, because the answer depends on it.
func TestStartWithoutTimes(t *testing.T) {
	t.Parallel()
	if f := fork(t); !f.begun.Equal(minikcm.DefaultClockStart) {
		t.Errorf("a fork of objects without times begins at %v, want %v", f.begun, minikcm.DefaultClockStart)
	}
}

// A question has the same answer each time, verbatim.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"drain":     "drain n0",
		"remove":    "remove n0 n1",
		"add":       "add 2 like n0, drain n0",
		"scale":     "scale deployment/web=12",
		"scaledown": "scale deployment/web=1 statefulset/db=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := ParseChanges(strings.Fields(text), "default")
			if err != nil {
				t.Fatal(err)
			}
			report, err := fork(t).WhatIf(t.Context(), changes)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := report.Print(&out); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".golden", out.String())
			report.Loaded = nil
			data, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".json.golden", string(data)+"\n")
		})
	}
}

// A PodGroup of the dump is obeyed: its pods are moved together or not at all.
func TestWhatIfAGangLosesANode(t *testing.T) {
	t.Parallel()
	f := forkOf(t, `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: gang, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gang, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: gang}}
  template:
    metadata: {labels: {app: gang}}
    spec: {schedulingGroup: {podGroupName: gang}, containers: [{name: c, image: c, resources: {requests: {cpu: "3"}}}]}
`)
	changes, err := ParseChanges([]string{"scale", "deployment/gang=0"}, "default")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WhatIf(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	changes, err = ParseChanges([]string{"remove", "n0,", "scale", "deployment/gang=3"}, "default")
	if err != nil {
		t.Fatal(err)
	}
	report, err := f.WhatIf(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Pending) != 3 {
		t.Errorf("pods without a node: %v, want all three of the gang", report.Pending)
	}
}

// TestWhatIfAGangPreempts scales a gang up that preempts pods of lower priority. The classes of the PodGroup and of the pods come after
// them in the dump.
func TestWhatIfAGangPreempts(t *testing.T) {
	t.Parallel()
	deployment := func(name, more string, replicas int) string {
		return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {%[3]s, containers: [{name: c, image: c, resources: {requests: {cpu: "3"}}}]}
`, name, replicas, more)
	}
	f := forkOf(t, `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: gang, namespace: default}
spec: {priorityClassName: high, schedulingPolicy: {gang: {minCount: 2}}}
`+deployment("gang", "priorityClassName: high, schedulingGroup: {podGroupName: gang}", 0)+deployment("low", "priorityClassName: low", 3)+`---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}
`)
	changes, err := ParseChanges([]string{"scale", "deployment/gang=2"}, "default")
	if err != nil {
		t.Fatal(err)
	}
	report, err := f.WhatIf(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	preempted := 0
	for _, m := range report.Moved {
		if m.Preempted {
			preempted++
		}
	}
	if preempted != 2 || len(report.Started) != 2 || len(report.Pending) != 2 {
		t.Errorf("%d pods were preempted, %+v", preempted, report)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target        string
		wanted, limit int
		fits          bool
	}{
		"asmany":  {"deployment/web", 0, 100, true},
		"limit":   {"deployment/web", 0, 2, true},
		"wanted":  {"statefulset/db", 4, 100, true},
		"toomany": {"statefulset/db", 40, 100, false},
		"quota":   {"limited/deployment/small", 0, 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, err := ParseTarget(c.target, "default")
			if err != nil {
				t.Fatal(err)
			}
			fit, err := fork(t).Fit(t.Context(), target, c.wanted, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			if fit.Fits() != c.fits {
				t.Errorf("fits: %v", fit.Fits())
			}
			var out strings.Builder
			if err := fit.Print(&out); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/fit-"+name+".golden", out.String())
		})
	}
}

// deviceManifests are two GPUs on n0 and one on n1, and workloads that claim one GPU a pod, or request it as an extended
// resource.
const deviceManifests = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n0-gpus}
spec: {driver: gpu.example.com, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpus}
spec: {driver: gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: claiming, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: claiming}}
  template:
    metadata: {labels: {app: claiming}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
      containers: [{name: c, image: nginx, resources: {claims: [{name: gpu}]}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: requesting, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: requesting}}
  template:
    metadata: {labels: {app: requesting}}
    spec: {containers: [{name: c, image: nginx, resources: {limits: {example.com/gpu: "1"}}}]}
`

// Devices of a dump count, and their lack is a reason against a node.
func TestFitDevices(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claiming", "requesting"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit, err := forkOf(t, deviceManifests).Fit(t.Context(), &Target{Kind: "deployment", Namespace: "default", Name: name}, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := fit.Print(&out); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/fit-"+name+".golden", out.String())
		})
	}
}

// A question about objects that do not exist is refused before anything is changed.
func TestQuestionsWithoutSense(t *testing.T) {
	t.Parallel()
	f := fork(t)
	for text, want := range map[string]string{
		"drain n7":                  "node n7 does not exist",
		"add 1 like n7":             "node n7 does not exist",
		"scale deployment/none=3":   "deployment/none in default does not exist; select another namespace with -n",
		"scale daemonset/agent=3":   "daemonset/agent in default cannot be scaled: its kind has no replicas",
		"scale gadget/x=3":          `the cluster has no resource "gadget": write it as kubectl takes it, such as deployment, deployments.apps or deploy`,
		"drain n0, scale none/x=30": `the cluster has no resource "none": write it as kubectl takes it, such as deployment, deployments.apps or deploy`,
	} {
		changes, err := ParseChanges(strings.Fields(text), "default")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = f.WhatIf(t.Context(), changes); err == nil || err.Error() != want || !errors.As(err, new(InputError)) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := f.Fit(t.Context(), &Target{Kind: "deployment", Namespace: "default", Name: "web"}, 4, 10); !errors.As(err, new(InputError)) {
		t.Errorf("fit with the replicas that there are: %v", err)
	}
}

// TestStagesInAFork checks that kwok's Stages of a dump have effect in the fork: they are the life of its pods.
func TestStagesInAFork(t *testing.T) {
	t.Parallel()
	definition, err := stages.Definition()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	f := forkOf(t, manifests+"---\n"+string(text)+`
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchLabels: {app: web}, matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next: {statusTemplate: "phase: Running\nreason: Staged\n"}
`)
	pods, err := f.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%d pods: %v", len(pods.Items), err)
	}
	for i := range pods.Items {
		if reason := pods.Items[i].Status.Reason; reason != "Staged" {
			t.Errorf("pod %s has the reason %q", pods.Items[i].Name, reason)
		}
	}
}
