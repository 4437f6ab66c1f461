package capacity

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/golden"
)

// nodeYAML is a node with 4 CPUs.
func nodeYAML(name string, labels ...string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s, %s}}\nstatus: {capacity: {cpu: \"4\", memory: 16Gi, pods: \"20\"}, allocatable: {cpu: \"4\", memory: 16Gi, pods: \"20\"}}\n",
		name, strings.Join(labels, ", "))
}

// nodesYAML are n nodes, n0 and so on.
func nodesYAML(n int, labels ...string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(nodeYAML(fmt.Sprintf("n%d", i), labels...))
	}
	return b.String()
}

// workloadYAML is a workload whose pods request CPUs. more are fields of its pods' spec.
func workloadYAML(kind, name string, replicas int, cpu, more string) string {
	if more != "" {
		more += ", "
	}
	service := ""
	if kind == "StatefulSet" {
		service = "serviceName: " + name + ", "
	}
	return fmt.Sprintf("---\napiVersion: apps/v1\nkind: %[1]s\nmetadata: {name: %[2]s, namespace: default}\nspec: {%[6]sreplicas: %[3]d, selector: {matchLabels: {app: %[2]s}}, template: {metadata: {labels: {app: %[2]s}}, spec: {%[5]scontainers: [{name: c, image: %[2]s, resources: {requests: {cpu: %[4]q}}}]}}}\n",
		kind, name, replicas, cpu, more, service)
}

// podYAML is a running pod of a ReplicaSet of that name, which ownerYAML makes.
func podYAML(owner, name, node string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: default, uid: uid-of-%[2]s, labels: {app: %[1]s}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: uid-of-%[1]s, controller: true}]}
spec: {nodeName: %[3]s, containers: [{name: c, image: %[1]s, resources: {requests: {cpu: "1"}}}]}
status:
  phase: Running
  podIP: 10.0.0.%[4]d
  startTime: "2026-11-01T00:00:00Z"
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-01T00:00:01Z"}]
  containerStatuses: [{name: c, image: %[1]s, imageID: x, ready: true, started: true, restartCount: 0, state: {running: {startedAt: "2026-11-01T00:00:00Z"}}}]
`, owner, name, node, len(name)+int(name[len(name)-1]))
}

func ownerYAML(name string, replicas int) string {
	return fmt.Sprintf("---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: %[1]s, namespace: default, uid: uid-of-%[1]s}\nspec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: %[1]s, resources: {requests: {cpu: \"1\"}}}]}}}\n",
		name, replicas)
}

func budgetYAML(name string, spec string) string {
	return fmt.Sprintf("---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %[1]s, namespace: default}\nspec: {%[2]s, selector: {matchLabels: {app: %[1]s}}}\n", name, spec)
}

func movedFrom(r *Report) (nodes []string) {
	for _, m := range r.Moved {
		nodes = append(nodes, m.From)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Nodes are selected by names, labels, zones and pools.
func TestSelectedNodes(t *testing.T) {
	t.Parallel()
	f := openFork(t, nodeYAML("web-0", "topology.kubernetes.io/zone: a")+nodeYAML("web-1", "topology.kubernetes.io/zone: b")+
		nodeYAML("x", "eks.amazonaws.com/nodegroup: data", "topology.kubernetes.io/zone: a", "tier: gold"))
	for question, want := range map[string]string{
		"drain zone a":    "[web-0 x]",
		"drain zone a b":  "[web-0 web-1 x]",
		"drain pool web":  "[web-0 web-1]",
		"drain pool data": "[x]",
		"drain tier=gold": "[x]",
		"drain topology.kubernetes.io/zone=a,tier!=gold": "[web-0]",
		"drain x web-1 tier=gold":                        "[x web-1]",
		"drain zone c":                                   "no node is in zone c; there are a, b",
		"drain pool dat":                                 "no node is in pool dat; did you mean data?",
		"drain tier=silver":                              "no node has the labels tier=silver",
	} {
		changes, err := ParseChanges(strings.Fields(question), "default")
		if err != nil {
			t.Fatal(err)
		}
		state, err := f.state(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := f.check(t.Context(), changes, state.nodes); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(changes[0].Nodes)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", question, got, want)
		}
	}
}

// A node that crashes is found out after 50 s without a heartbeat. Its pods tolerate that for 5 minutes; then
// the Deployment replaces its pod, and the StatefulSet cannot, because its pod does not end.
func TestCrash(t *testing.T) {
	t.Parallel()
	spread := "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: %s}}}]"
	f := openFork(t, nodesYAML(3)+workloadYAML("Deployment", "web", 3, "1", fmt.Sprintf(strings.ReplaceAll(spread, "DoNotSchedule", "ScheduleAnyway"), "web"))+
		workloadYAML("StatefulSet", "db", 3, "1", fmt.Sprintf(spread, "db")))
	r := ask(t, f, "crash n0", DoesNotFit)
	between(t, "settled", r.Took, 350*time.Second, 370*time.Second)
	if got := movedFrom(r); len(r.Moved) != 1 || got[0] != "n0" || !strings.HasPrefix(r.Moved[0].Pod.Name, "web-") {
		t.Errorf("moved: %+v", r.Moved)
	}
	if len(r.Short) != 1 || r.Short[0].Workload.Name != "db" || r.Short[0].Has != 2 || !strings.Contains(r.Short[0].Reason, "its node n0 does not answer") {
		t.Errorf("short: %+v", r.Short)
	}
}

// The three nodes have room for 6 pods of the file beside the pods that they have.
func TestApply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := nodesYAML(3) + workloadYAML("Deployment", "web", 3, "2", "")
	r := ask(t, openFork(t, text), "apply "+write("six.yaml", workloadYAML("Deployment", "api", 6, "1", "")), Fits)
	if len(r.Started) != 6 {
		t.Errorf("started: %+v", r.Started)
	}
	r = ask(t, openFork(t, text), "apply "+write("seven.yaml", workloadYAML("Deployment", "api", 7, "1", "")), DoesNotFit)
	if len(r.Pending) != 1 || !strings.Contains(r.Pending[0].Reason, "3 Insufficient cpu") {
		t.Errorf("pending: %+v", r.Pending)
	}
	// A rollout to other requests: the old pods make way one after the other.
	r = ask(t, openFork(t, text), "apply "+write("web.yaml", workloadYAML("Deployment", "web", 3, "3", "")), DoesNotFit)
	if len(r.Pending) == 0 {
		t.Errorf("pending: %+v", r.Pending)
	}
	r = ask(t, openFork(t, text), "apply "+write("node.yaml", nodeYAML("n9")), Fits)
	if at := slices.IndexFunc(r.Nodes, func(n NodeUse) bool { return n.Name == "n9" }); at < 0 || r.Nodes[at].After.Allocatable["cpu"] != "4" {
		t.Errorf("the nodes after one was applied: %+v", r.Nodes)
	}
	r = ask(t, openFork(t, text), "apply "+write("bad.yaml", "{apiVersion: v1, kind: Service, metadata: {name: UPPER}, spec: {ports: [{port: 80}]}}"), DoesNotFit)
	if len(r.Rejected) != 1 || !strings.Contains(r.Rejected[0].Error, "UPPER") {
		t.Errorf("rejected: %+v", r.Rejected)
	}
}

// Each of three nodes has two pods, of which the budget lets one go at a time, and a pod takes 10 s to get
// ready: six evictions with at least 10 s between two.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	text := nodesYAML(3, "pool: web") + strings.ReplaceAll(workloadYAML("Deployment", "web", 6, "1", ""), "image: web", "image: web, readinessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 10}") +
		budgetYAML("web", "maxUnavailable: 1")
	for surge, atMost := range map[string]time.Duration{"": 110 * time.Second, " surge 3": 90 * time.Second, " surge 0": 110 * time.Second} {
		r := ask(t, openFork(t, text), "upgrade web"+surge, Fits)
		if !slices.ContainsFunc(r.Waited, func(w Wait) bool { return w.For == WaitEviction }) {
			t.Errorf("%q: no eviction waited: %+v", surge, r.Waited)
		}
		if out := printed(t, r); !strings.Contains(out, "replaced by n0-new-1\n") || !strings.Contains(out, "\nall 3 ") {
			t.Errorf("%q: the report is\n%s", surge, out)
		}
		if len(r.Drains) != 3 {
			t.Fatalf("%q: drained: %+v", surge, r.Drains)
		}
		longest, sum := 0.0, 0.0
		for _, d := range r.Drains {
			if !d.Done || d.ReplacedBy != d.Node+"-new-1" {
				t.Errorf("%q: drained: %+v", surge, d)
			}
			longest, sum = max(longest, d.Took), sum+d.Took
		}
		if surge == " surge 3" {
			between(t, "the longest drain", longest, 50*time.Second, atMost)
		} else { // one after the other
			between(t, "all drains of upgrade"+surge, sum, 40*time.Second, atMost)
			between(t, "each drain of upgrade"+surge, longest, 10*time.Second, 40*time.Second)
		}
		if longest > r.Took {
			t.Errorf("%q: a drain took %v s, and all %v s", surge, longest, r.Took)
		}
		names := map[string]bool{}
		for _, n := range r.Nodes {
			if n.After != nil {
				names[n.Name] = true
			}
		}
		if len(names) != 3 || !names["n0-new-1"] {
			t.Errorf("%q: the nodes are %v", surge, names)
		}
	}
	r := ask(t, openFork(t, nodesYAML(2, "pool: web")+workloadYAML("Deployment", "web", 2, "1", "")+budgetYAML("web", "maxUnavailable: 0")), "upgrade web", DoesNotFit)
	if len(r.Refused) == 0 || len(r.Drains) != 2 || !r.Drains[1].Waiting {
		t.Errorf("an upgrade that a budget holds up: %+v, %+v", r.Refused, r.Drains)
	}
	// The drain of the first node is refused: the upgrade ends, and the agents of the others stay where they are.
	agents := strings.Replace(workloadYAML("DaemonSet", "agent", 0, "10m", ""), "replicas: 0, ", "", 1)
	bare := "---\n{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: default}, spec: {nodeName: n0, containers: [{name: c, image: c}]}}\n"
	r = ask(t, openFork(t, nodesYAML(2, "pool: web")+agents+bare), "upgrade web", DoesNotFit)
	if len(r.Drains) != 2 || r.Drains[0].Failure == "" || !r.Drains[1].Waiting || r.Took > 60 {
		t.Errorf("an upgrade with a bare pod, after %v s: %+v", r.Took, r.Drains)
	}
	r = ask(t, openFork(t, nodesYAML(4, "pool: web")+agents), "upgrade web surge 2", Fits)
	for _, m := range r.Moved {
		if m.To != m.From+"-new-1" {
			t.Errorf("the agent of %s goes on as that of %s", m.From, m.To)
		}
	}
}

// TestDrainTimes drains nodes one after the other: each takes as long as its own pods, and the answer is not
// settled before the drains are done.
func TestDrainTimes(t *testing.T) {
	t.Parallel()
	text := nodesYAML(3) + strings.ReplaceAll(workloadYAML("Deployment", "web", 3, "1", ""), "containers:", "terminationGracePeriodSeconds: 0, containers:")
	r := ask(t, openFork(t, text), "drain n0 n1 n2", DoesNotFit)
	sum := 0.0
	for _, d := range r.Drains {
		if !d.Done || d.Took == 0 {
			t.Errorf("drained: %+v", d)
		}
		sum += d.Took
	}
	if math.Abs(sum-r.Took) > 2 {
		t.Errorf("the drains took %v s one after the other, and all took %v s", sum, r.Took)
	}
	for _, empty := range []string{"drain n0", "upgrade pool n"} {
		r := ask(t, openFork(t, strings.ReplaceAll(nodesYAML(1), "name: n0", "name: n-0")), strings.ReplaceAll(empty, "n0", "n-0"), Fits)
		if r.Drains[0].Took > r.Took {
			t.Errorf("%q: the drain took %v s, and all %v s", empty, r.Drains[0].Took, r.Took)
		}
	}
}

// TestWaitedRows checks which pods share a row.
func TestWaitedRows(t *testing.T) {
	wait := func(pod, node, what string, seconds float64, reason string) Wait {
		return Wait{Pod: Pod{"default", pod}, Node: node, For: what, Seconds: seconds, Reason: reason}
	}
	r := &Report{Waited: []Wait{
		wait("a", "n0", WaitReady, 40, "0/3 nodes are available"), wait("b", "n1", WaitReady, 40, "0/3 nodes are available"), wait("c", "n1", WaitReady, 20.4, "0/3 nodes are available"),
		wait("d", "n0", WaitReady, 15, ""), wait("e", "n1", WaitReady, 15, ""), wait("f", "n0", WaitEviction, 10, "0/3 nodes are available"), wait("g", "n0", WaitReady, 10, ""),
	}}
	want := [][]string{
		{"default/a and 2 more", "2 nodes", WaitReady, "20s to 40s", "0/3 nodes are available"},
		{"default/d and 1 more", "n0", WaitReady, "10s to 15s", ""},
		{"default/e", "n1", WaitReady, "15s", ""},
		{"default/f", "n0", WaitEviction, "10s", "0/3 nodes are available"},
	}
	if got := r.waited(); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("the rows are %q", got)
	}
}

// scalerYAML is an autoscaler of a Deployment, at rest at 60 % of 500m on 4 pods.
func scalerYAML(name string, most int) string {
	return fmt.Sprintf(`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s, namespace: default}
spec: {minReplicas: 2, maxReplicas: %[2]d, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}
status: {currentReplicas: 4, desiredReplicas: 4, currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 60, averageValue: 300m}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: default}
spec: {selector: {app: %[1]s}, ports: [{port: 80}]}
`, name, most)
}

// Three times 4 x 300m at a target of 300m are 12 pods.
func TestLoad(t *testing.T) {
	t.Parallel()
	text := nodesYAML(3) + workloadYAML("Deployment", "web", 4, "500m", "")
	autoscale := func(o *Options) { o.Autoscale = true }
	r := ask(t, openFork(t, text+scalerYAML("web", 20), autoscale), "load web x3", Fits)
	if len(r.Scaled) != 1 || r.Scaled[0].Before != 4 || r.Scaled[0].After != 12 || len(r.Started) != 8 {
		t.Errorf("scaled: %+v, started %d", r.Scaled, len(r.Started))
	}
	r = ask(t, openFork(t, text+scalerYAML("web", 8), autoscale), "load deployment/web x3", DoesNotFit)
	if len(r.Scaled) != 1 || r.Scaled[0].After != 8 || r.Scaled[0].Limited == "" {
		t.Errorf("scaled to the limit: %+v", r.Scaled)
	}
	// Four nodes' worth of pods: 40 pods of 500m on 12 CPUs.
	r = ask(t, openFork(t, text+scalerYAML("web", 50), autoscale), "load web x10", DoesNotFit)
	if len(r.Pending) != 16 {
		t.Errorf("%d of 40 pods are pending, want 16", len(r.Pending))
	}
	// Nothing scales the pods, so what becomes of them is unknown.
	r = ask(t, openFork(t, text, autoscale), "load deployment/web x3", Uncertain)
	if len(r.Uncertain) != 1 || !strings.HasPrefix(r.Uncertain[0], "no autoscaler scales deployment/web in default") {
		t.Errorf("uncertain because %q", r.Uncertain)
	}
	// At rest, nothing moves: the load follows from the autoscaler's status and is not half of the
	// requests.
	r = ask(t, openFork(t, text+scalerYAML("web", 20), autoscale), "scale deployment/web=4", Fits)
	if len(r.Scaled)+len(r.Started)+len(r.Gone) > 0 {
		t.Errorf("at rest: %+v, %+v, %+v", r.Scaled, r.Started, r.Gone)
	}
}

// A profile that prefers full nodes packs the three pods on one.
func TestSchedulerConfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scheduler.yaml")
	config := `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {disabled: [{name: PodTopologySpread}]}}
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}]
`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	text := nodesYAML(3) + workloadYAML("Deployment", "web", 1, "1", "")
	on := func(r *Report) map[string]int {
		nodes := map[string]int{}
		for _, p := range r.Started {
			nodes[p.Node]++
		}
		return nodes
	}
	if got := on(ask(t, openFork(t, text), "scale deployment/web=3", Fits)); len(got) != 2 {
		t.Errorf("by default on %v", got)
	}
	if got := on(ask(t, openFork(t, text, func(o *Options) { o.SchedulerConfig = path }), "scale deployment/web=4", Fits)); len(got) != 1 {
		t.Errorf("with the configuration on %v", got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Six pods of a CPU need two nodes of four. The emptiest nodes are removed first: the pod of n1 and then
// the pod of the next node move to emptier nodes than n0. After that, the three pods of n0 do not fit on
// one CPU.
func TestConsolidate(t *testing.T) {
	t.Parallel()
	text := nodesYAML(4) + ownerYAML("web", 6) + podYAML("web", "web-a", "n0") + podYAML("web", "web-b", "n0") + podYAML("web", "web-c", "n0") +
		podYAML("web", "web-d", "n1") + podYAML("web", "web-e", "n2") + podYAML("web", "web-f", "n3")
	r := ask(t, openFork(t, text), "consolidate", Fits)
	if len(r.Removable) != 2 || len(r.Kept) != 2 || r.Removable[0] != "n1" || !strings.Contains(r.Kept[0].Reason, "finds no room: ") {
		t.Errorf("removable: %v, kept: %+v", r.Removable, r.Kept)
	}
	if r.Kept[0].Node != "n0" {
		t.Errorf("n0 has three pods: kept %+v", r.Kept)
	}
	golden.Compare(t, "testdata/consolidate.golden", printed(t, r))
	annotated := strings.Replace(text, "metadata: {name: n1, ", `metadata: {name: n1, annotations: {cluster-autoscaler.kubernetes.io/scale-down-disabled: "true"}, `, 1)
	r = ask(t, openFork(t, annotated+budgetYAML("web", "maxUnavailable: 0")), "consolidate", Fits)
	if len(r.Removable) != 0 || len(r.Kept) != 4 || !strings.Contains(r.Kept[0].Reason, "the disruption budget web allows no eviction") ||
		r.Kept[1].Reason != "it is annotated cluster-autoscaler.kubernetes.io/scale-down-disabled: true" {
		t.Errorf("removable: %v, kept: %+v", r.Removable, r.Kept)
	}
	// What other changes free counts: 2 pods fit on one node.
	r = ask(t, openFork(t, text), "scale replicaset/web=2, consolidate", Fits)
	if len(r.Removable) != 3 {
		t.Errorf("removable: %v, kept: %+v", r.Removable, r.Kept)
	}
}

// A workload of a file, which the cluster does not have: two pods of 1.5 CPUs fit on each node.
func TestFitOfAFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deployment": workloadYAML("Deployment", "api", 7, "1500m", ""),
		"pod":        "{apiVersion: v1, kind: Pod, metadata: {name: api, namespace: default}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1500m}}}]}}",
	} {
		path := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := openFork(t, nodesYAML(3))
		target, err := f.Prepare(t.Context(), path, nil, "default")
		if err != nil {
			t.Fatal(err)
		}
		fit, err := f.Fit(t.Context(), target, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		if fit.More != 6 || fit.Replicas != 0 || fit.Verdict != Fits || fit.Target.Kind != name || target.String() != name+"/api in default" {
			t.Errorf("%s: %+v", name, fit)
		}
		again, err := openFork(t, nodesYAML(3)).Prepare(t.Context(), path, &Target{Kind: name, Namespace: "default", Name: "api"}, "default")
		if err != nil || *again != *target {
			t.Errorf("%s/api: %v, %v", name, again, err)
		}
		if _, err := f.Prepare(t.Context(), path, &Target{Kind: "deploy", Namespace: "default", Name: "none"}, "default"); err == nil || err.Error() != path+" has no deploy/none in default" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Only the room that is free now counts, without the room of a Job that ends in an hour.
func TestFitBesideAJob(t *testing.T) {
	t.Parallel()
	job := "---\n{apiVersion: batch/v1, kind: Job, metadata: {name: batch, namespace: default}, spec: {template: {metadata: {annotations: {minikcm.dev/exit-after: 1h}}, spec: {restartPolicy: Never, containers: [{name: c, image: c, resources: {requests: {cpu: \"3\"}}}]}}}}\n"
	f := openFork(t, nodesYAML(2)+job+workloadYAML("Deployment", "web", 1, "1", ""))
	fit, err := f.Fit(t.Context(), &Target{Kind: "deployment", Namespace: "default", Name: "web"}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if fit.More != 4 { // of 8 CPUs, 3 + 1 are taken
		t.Errorf("%d more fit, want 4", fit.More)
	}
}

const groupsYAML = `
apiVersion: minikcm.dev/v1alpha1
kind: NodeGroups
spec:
  groups:
  - {name: big, max: 10, price: 3, priority: 10, capacity: {cpu: 8, memory: 32Gi, pods: 20}}
  - {name: small, max: %d, price: 1, priority: 1, capacity: {cpu: 2, memory: 8Gi, pods: 20}}
`

// Five pods of 2 CPUs that fit nowhere fill five small nodes, or need two big ones, of which then 6 of 16 CPUs
// are idle. The big group has 3 x 2 / 5 = 1.2 a pod as its price, the small one 1.
func TestNodeGroups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expander string
		max      int
		want     map[string]int
	}{
		{"least-waste", 10, map[string]int{"small": 5}},
		{"price", 10, map[string]int{"small": 5}},
		{"priority", 10, map[string]int{"big": 2}},
		{"most-pods", 10, map[string]int{"big": 2}},
		{"most-pods", 3, map[string]int{"big": 2}},
		{"least-waste", 3, map[string]int{"small": 3, "big": 1}},
	} {
		groups, err := ParseNodeGroups("groups.yaml", fmt.Appendf(nil, groupsYAML, test.max))
		if err != nil {
			t.Fatal(err)
		}
		if err := groups.SetExpander(test.expander); err != nil {
			t.Fatal(err)
		}
		f := openFork(t, nodesYAML(1)+workloadYAML("Deployment", "web", 2, "2", ""), func(o *Options) {
			o.NodeGroups, o.NodeDelay = groups, 90*time.Second
		})
		r := ask(t, f, "scale deployment/web=7", Fits)
		got := map[string]int{}
		for _, a := range r.Added {
			got[a.Group] += len(a.Nodes)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s with at most %d small nodes: added %v, want %v", test.expander, test.max, got, test.want)
		}
		between(t, test.expander, r.Took, 90*time.Second, 125*time.Second)
	}
	groups, err := ParseNodeGroups("groups.yaml", fmt.Appendf(nil, groupsYAML, 1))
	if err != nil {
		t.Fatal(err)
	}
	f := openFork(t, nodesYAML(1)+workloadYAML("Deployment", "web", 1, "9", ""), func(o *Options) { o.NodeGroups = groups })
	r := ask(t, f, "scale deployment/web=2", DoesNotFit)
	if len(r.Added) > 0 || len(r.Helpless) != 2 || !strings.Contains(r.Helpless[0].Reason, "Insufficient cpu") {
		t.Errorf("added: %+v, helpless: %+v", r.Added, r.Helpless)
	}
}

func TestParseNodeGroups(t *testing.T) {
	for text, want := range map[string]string{
		"": "there are no node groups in it",
		"{apiVersion: minikcm.dev/v1alpha1, kind: NodePools, spec: {groups: [{name: a, max: 1}]}}":                         `kind: is "NodePools", but must be NodeGroups`,
		"{apiVersion: minikcm.dev/v1alpha1, kind: NodeGroups, spec: {expander: cheapest, groups: [{name: a, max: 1}]}}":    `spec.expander: is "cheapest"; known are random`,
		"{apiVersion: minikcm.dev/v1alpha1, kind: NodeGroups, spec: {groups: [{name: a}, {name: a, max: 1}]}}":             "spec.groups[0].max: is 0",
		"{apiVersion: minikcm.dev/v1alpha1, kind: NodeGroups, spec: {groups: [{name: a, maximum: 1}]}}":                    "maximum",
		"{apiVersion: minikcm.dev/v1alpha1, kind: NodeGroups, spec: {groups: [{name: a, max: 1, capacity: {cpu: much}}]}}": "cpu",
	} {
		if _, err := ParseNodeGroups("groups.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Twelve pods of low priority fill the nodes: no pod of high priority fits without displacing one of them.
func TestFitByPreemption(t *testing.T) {
	t.Parallel()
	text := nodesYAML(3) + "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}\n" +
		workloadYAML("Deployment", "low", 12, "1", "") + workloadYAML("Deployment", "high", 0, "1", "priorityClassName: high")
	target := &Target{Kind: "deployment", Namespace: "default", Name: "high"}
	fit, err := openFork(t, text).Fit(t.Context(), target, 0, 20)
	if err != nil {
		t.Fatal(err)
	}
	if fit.More != 12 || len(fit.Displaced) != 12 || fit.Homeless != 12 {
		t.Errorf("%d more, %d displaced, %d of them without a node", fit.More, len(fit.Displaced), fit.Homeless)
	}
	golden.Compare(t, "testdata/fit-preemption.golden", func() string {
		var out strings.Builder
		if err := fit.Print(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}())
	fit, err = openFork(t, text, func(o *Options) { o.NoPreemption = true }).Fit(t.Context(), target, 0, 20)
	if err != nil {
		t.Fatal(err)
	}
	if fit.More != 0 || len(fit.Displaced) != 0 || fit.Verdict != DoesNotFit {
		t.Errorf("without preemption: %+v", fit)
	}
}

// A drain waits, as kubectl does, for a pod that does not go because of its finalizer.
func TestDrainOfAPodWithAFinalizer(t *testing.T) {
	t.Parallel()
	text := nodesYAML(2) + ownerYAML("web", 1) + strings.Replace(podYAML("web", "web-a", "n0"), "uid: uid-of-web-a,", "uid: uid-of-web-a, finalizers: [example.com/hold],", 1)
	r := ask(t, openFork(t, text), "drain n0", DoesNotFit)
	if len(r.Leaving) != 1 || len(r.Leaving[0].Finalizers) != 1 || r.Drains[0].Done || r.Drains[0].Failure != "" {
		t.Errorf("leaving: %+v, drained: %+v", r.Leaving, r.Drains)
	}
}

// A dump that refers to what it does not have is named, and what fits is uncertain.
func TestUncertain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, missing string }{
		"storage class":  {strings.Replace(workloadYAML("StatefulSet", "db", 1, "1", ""), "spec: {", "spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}], ", 1), "storageclass/gp3"},
		"priority class": {workloadYAML("Deployment", "web", 1, "1", "priorityClassName: high"), "priorityclass/high"},
		"runtime class":  {workloadYAML("Deployment", "web", 1, "1", "runtimeClassName: gvisor"), "runtimeclass/gvisor"},
		"claim template": {workloadYAML("Deployment", "web", 1, "1", "resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]"), "resourceclaimtemplate/gpu in default"},
		"device class":   {"---\n{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu, namespace: default}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}}\n", "deviceclass/gpu"},
		"volume claim":   {workloadYAML("Deployment", "web", 1, "1", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"), "persistentvolumeclaim/data in default"},
		"volume":         {"---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d, namespace: default}, spec: {accessModes: [ReadWriteOnce], volumeName: pv1, resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}\n", "persistentvolume/pv1"},
		"owner":          {podYAML("web", "web-a", "n0"), "replicaset/web in default"},
		"node":           {ownerYAML("web", 1) + podYAML("web", "web-a", "lost"), "node/lost"},
		"exceeded quota": {strings.Replace(ownerYAML("web", 1), "spec:", "status: {conditions: [{type: ReplicaFailure, status: \"True\", message: 'pods \"web-1\" is forbidden: exceeded quota: compute, requested: pods=1'}]}\nspec:", 1), "resourcequota/compute in default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, openFork(t, nodesYAML(2)+test.text), "add 1 like n0", Uncertain)
			if !slices.Contains(r.Uncertain, "the dump does not contain "+test.missing) {
				t.Errorf("uncertain because %q, want %s", r.Uncertain, test.missing)
			}
			if !slices.ContainsFunc(r.Loaded.Missing, func(m dump.Missing) bool { return m.Object == test.missing }) {
				t.Errorf("missing: %+v", r.Loaded.Missing)
			}
		})
	}
}

// Reports for programs.
func TestReportsForPrograms(t *testing.T) {
	t.Parallel()
	r := ask(t, openFork(t, nodesYAML(2)+workloadYAML("Deployment", "web", 2, "1", "")+budgetYAML("web", "maxUnavailable: 0")), "drain n0", DoesNotFit)
	var out strings.Builder
	if err := r.JUnit(&out); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/junit.golden.xml", out.String())
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"verdict":"does not fit"`) {
		t.Errorf("%v: %s", err, data)
	}
}
