package minikcmapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/internal/scenarioapi"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/scenarios"
)

// fast is the speed of the tests' clocks: minutes are milliseconds, unless there is work to do.
const fast = 100_000

// bench is a cluster with a virtual clock that runs by itself, as "minikcm up" has it.
type bench struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newBench(t *testing.T, nodes int) *bench {
	t.Helper()
	return &bench{t: t, Cluster: minikcmtest.New(t, minikcmtest.WithNodes(nodes), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Clock.Mode, o.Clock.Speed = clock.ModeVirtual, fast
		o.Faults.API, o.Faults.Store = true, true
		o.API.Extensions = []minikcm.Extension{scenarios.FaultExtension(scenarios.User), scenarioapi.Extension()}
	}))}
}

func (b *bench) send(config *rest.Config, method, path, body string) *http.Response {
	b.t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

// ask makes a request and decodes the response.
func (b *bench) ask(method, path, body string, into any) int {
	b.t.Helper()
	res := b.send(b.Config(), method, scenarioapi.Path+path, body)
	defer res.Body.Close() // it is only read
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		b.t.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
	return res.StatusCode
}

func (b *bench) begin(body string) *scenarioapi.Run {
	b.t.Helper()
	run := &scenarioapi.Run{}
	if code := b.ask(http.MethodPost, "", body, run); code != http.StatusCreated {
		b.t.Fatalf("%s is answered with %d: %+v", body, code, run)
	}
	return run
}

func document(text string) string {
	body, _ := json.Marshal(map[string]string{"document": text}) // of strings it does not fail
	return string(body)
}

const header = "apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: own}\nspec:\n  timeout: 10000h\n  cluster: {nodes: 1}\n"

// follow reads the states of a run until it is over, and returns the last one.
func (b *bench) follow(id string, each func(*scenarioapi.Run)) *scenarioapi.Run {
	b.t.Helper()
	res := b.send(b.Config(), http.MethodGet, scenarioapi.Path+"/runs/"+id+"?follow=true", "")
	defer res.Body.Close() // it is only read
	lines := json.NewDecoder(res.Body)
	for {
		run := &scenarioapi.Run{}
		if err := lines.Decode(run); err != nil {
			b.t.Fatalf("the stream of %s ends with %v", id, err)
		}
		if each != nil {
			each(run)
		}
		if run.State.Done() {
			return run
		}
	}
}

func (b *bench) faults() string {
	b.t.Helper()
	client, err := faultapi.NewClient(b.Config())
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := client.List(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var states []string
	for i := range list.Items {
		states = append(states, fmt.Sprint(list.Items[i].Title, ": ", list.Items[i].State))
	}
	return strings.Join(states, "\n")
}

// The list says which scenarios cannot run on the cluster, and why.
func TestShipped(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	var shipped []scenarioapi.Shipped
	if code := b.ask(http.MethodGet, "", "", &shipped); code != http.StatusOK || len(shipped) != len(scenarios.Names()) {
		t.Fatalf("the list is answered with %d: %+v", code, shipped)
	}
	refused := map[string]string{}
	for _, s := range shipped {
		if s.Name == "runs" {
			t.Error("a scenario has the name of the path of the runs")
		}
		if len(s.Steps) == 0 || s.Description == "" {
			t.Errorf("%s is shown without steps or a description", s.Name)
		}
		refused[s.Name] = s.Refused
	}
	for name, want := range map[string]string{
		"pod-kill":      "it needs 3 nodes, and this cluster has 2",
		"cron-dst":      "its time begins at 2026-03-28T23:00:00Z, which only a cluster of its own can do",
		"evolution":     "reconcilers run only beside a cluster of the scenario's own",
		"gc-cascade":    "",
		"job-backoff":   "",
		"etcd-outage":   "it needs 3 nodes, and this cluster has 2",
		"watch-expired": "it needs 3 nodes, and this cluster has 2",
	} {
		if got := refused[name]; got != want && (name != "evolution" || !strings.Contains(got, want)) {
			t.Errorf("%s is refused with %q, want %q", name, got, want)
		}
	}
	res := b.send(b.Config(), http.MethodGet, scenarioapi.Path+"/pod-kill", "")
	defer res.Body.Close() // it is only read
	if source, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(source), "name: pod-kill") {
		t.Errorf("the source is %s: %v", source, err)
	}
}

// Shipped scenarios pass on a running cluster, in its time and in a namespace of their own.
func TestRunShipped(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3)
	for _, name := range []string{"pod-kill", "node-loss", "etcd-outage"} {
		before := b.Clock().Now()
		run := b.begin(fmt.Sprintf(`{"name": %q, "seed": 7}`, name))
		if run.Scenario != name || run.Seed != 7 || run.State != scenarioapi.Running || run.User == "" || run.Since.Before(before) {
			t.Errorf("the run is %+v", run)
		}
		run = b.follow(run.ID, nil)
		if run.State != scenarioapi.Passed || run.Failure != "" || run.Until == nil {
			t.Fatalf("%s: %+v", name, run)
		}
		for _, step := range run.Steps {
			if step.State != scenarioapi.StepDone || step.Since == nil || step.Until == nil || step.Failure != "" || step.Differs != "" {
				t.Errorf("%s: the step is %+v", name, step)
			}
		}
		if notes := strings.Join(run.Notes, "\n"); !strings.Contains(notes, "namespace minikcm-"+name+" takes the place of default") {
			t.Errorf("the notes are %s", notes)
		}
	}
	if got, want := b.faults(), "cut off nodes node-0: Over\nstop etcd: Over"; !strings.HasPrefix(got, "cut off nodes node-0: Over\n") {
		t.Errorf("the faults are\n%s\nwant\n%s", got, want)
	}
	var runs []scenarioapi.Run
	if b.ask(http.MethodGet, "/runs", "", &runs); len(runs) != 3 || runs[0].ID != "run-1" || runs[0].Steps != nil {
		t.Errorf("the runs are %+v", runs)
	}
}

// A run shows what its checks wait for, which invariants hold, what goes on in the background,
// and why it failed.
func TestOwnScenario(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.Pacer().Pause() // until the check is seen to wait: an idle hour passes faster than a stream is read
	run := b.begin(document(header + `
  invariants:
    - {name: the node stays, always: {objects: [{apiVersion: v1, kind: Node, metadata: {name: node-0}}]}}
    - {name: later, after: never comes, always: {objects: [{apiVersion: v1, kind: Node, metadata: {name: node-0}}]}}
  steps:
    - fault: {nodes: {action: taint, taint: "a=b:NoSchedule", all: true}, for: 5000h}
      background: true
    - fault: {nodes: {action: cordon, names: [node-0]}}
    - name: two replicas
      expect:
        within: 1h
        counts: [{target: nodes, equals: 2}]
    - name: never comes
      sleep: 1s
  finally:
    - name: at last
      create: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: at-last, namespace: default}}]}
`))
	seen := map[string]bool{}
	run = b.follow(run.ID, func(r *scenarioapi.Run) {
		for _, s := range r.Steps {
			seen[fmt.Sprint(s.Title, " ", s.State)] = true
			if s.State == scenarioapi.StepActive && strings.Contains(s.Differs, "nodes") {
				seen["differs"] = true
			}
		}
		if seen["two replicas Active"] && seen["differs"] {
			b.Pacer().Resume()
		}
	})
	if run.State != scenarioapi.Failed || !strings.Contains(run.Failure, "step 3 (two replicas): not within 1h0m0s") {
		t.Errorf("the run is %+v", run)
	}
	want := []scenarioapi.StepState{scenarioapi.StepDone, scenarioapi.StepDone, scenarioapi.StepFailed, scenarioapi.StepSkipped, scenarioapi.StepDone}
	for i, state := range want {
		if run.Steps[i].State != state || run.Steps[i].Last != (i == 4) {
			t.Errorf("step %d is %+v, want %s", i, run.Steps[i], state)
		}
	}
	if !strings.Contains(run.Steps[2].Failure, "there are 1") && run.Steps[2].Failure == "" {
		t.Errorf("the step fails with %q", run.Steps[2].Failure)
	}
	if run.Invariants[0].State != scenarioapi.StepDone || run.Invariants[1].State != scenarioapi.StepWaiting {
		t.Errorf("the invariants are %+v", run.Invariants)
	}
	for _, what := range []string{"two replicas Active", "differs"} {
		if !seen[what] {
			t.Errorf("%q is not seen in %v", what, seen)
		}
	}
	if _, err := b.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "at-last", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	node, err := b.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil || node.Spec.Unschedulable || len(node.Spec.Taints) > 0 {
		t.Errorf("the node is left as %+v: %v", node.Spec, err)
	}
	if got, want := b.faults(), "taint nodes with a=b:NoSchedule"; !strings.Contains(got, ": Over") && !strings.Contains(got, want) {
		t.Errorf("the faults are %s", got)
	}
}

// A run is stopped also while time stands still. Its faults cannot be stopped one by one.
func TestStopRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	run := b.begin(document(header + "  steps:\n    - fault: {nodes: {action: cordon, names: [node-0]}}\n    - sleep: 9000h\n"))
	b.Eventually("the node to be cordoned", func(ctx context.Context, client kubernetes.Interface) error {
		node, err := client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
		if err == nil && !node.Spec.Unschedulable {
			err = fmt.Errorf("it is not")
		}
		return err
	})
	b.Pacer().Pause()
	var status metav1.Status
	if code := b.ask(http.MethodPost, "", `{"name": "crashloop"}`, &status); code != http.StatusConflict {
		t.Errorf("another run is answered with %d: %s", code, status.Message)
	}
	if code := b.ask(http.MethodPost, "", document(header+"  steps: [{sleep: 1s}]\n"), &status); code != http.StatusConflict || !strings.Contains(status.Message, "the scenario own runs (run-1)") {
		t.Errorf("another run is answered with %d: %s", code, status.Message)
	}
	res := b.send(b.Config(), http.MethodDelete, faultapi.Path+"/f-1", "")
	if _ = res.Body.Close(); res.StatusCode != http.StatusConflict {
		t.Errorf("stopping its fault is answered with %d", res.StatusCode)
	}
	if code := b.ask(http.MethodDelete, "/runs/"+run.ID, "", run); code != http.StatusOK || run.State != scenarioapi.Stopped || run.Steps[1].State != scenarioapi.StepFailed {
		t.Errorf("a run is stopped as %+v", run)
	}
	if got := b.faults(); got != "cordon nodes node-0: Over" {
		t.Errorf("the faults are %s", got)
	}
	b.Pacer().Resume()
	if run = b.follow(b.begin(document(header+"  steps: [{sleep: 1s}]\n")).ID, nil); run.State != scenarioapi.Passed {
		t.Errorf("the next run is %+v", run)
	}
}

// The end of the cluster ends the run and its last steps, whatever the clock does.
func TestCloseRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	run := b.begin(document(header + "  steps: [{sleep: 9000h}]\n  finally: [{sleep: 4m}]\n"))
	b.Pacer().Pause()
	res := b.send(b.Config(), http.MethodGet, scenarioapi.Path+"/runs/"+run.ID+"?follow=true", "")
	defer res.Body.Close() // it is only read
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// What a request must not do is refused with a Status.
func TestScenarioRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	const steps = "  steps:\n    - "
	for name, test := range map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"nothing":         {http.MethodPost, "", "{}", 400, "give one of name"},
		"both":            {http.MethodPost, "", `{"name": "pod-kill", "document": "x"}`, 400, "give one of name"},
		"unknown field":   {http.MethodPost, "", `{"nmae": "pod-kill"}`, 400, `unknown field "nmae"`},
		"unknown name":    {http.MethodPost, "", `{"name": "pod-kil"}`, 404, ""},
		"a path":          {http.MethodPost, "", `{"name": "./scenario.yaml"}`, 404, ""},
		"namespace":       {http.MethodPost, "", `{"name": "job-backoff", "namespace": "No"}`, 400, "namespace"},
		"too long":        {http.MethodPost, "", document(strings.Repeat("#", 1<<20)), 413, "1048576 bytes"},
		"no YAML":         {http.MethodPost, "", document("a: [b"), 422, "line"},
		"none":            {http.MethodPost, "", document("# nothing"), 422, "there is no scenario in it"},
		"two":             {http.MethodPost, "", document(header + steps + "sleep: 1s\n---\n" + strings.Replace(header, "own", "other", 1) + steps + "sleep: 1s\n"), 422, "there are 2"},
		"a script":        {http.MethodPost, "", document(header + steps + "script: {run: 'true'}\n"), 422, "programs cannot be run on the cluster's machine"},
		"kubectl":         {http.MethodPost, "", document(header + steps + "kubectl: {args: [get, pods]}\n"), 422, "programs cannot be run on the cluster's machine"},
		"a file":          {http.MethodPost, "", document(header + steps + "apply: {files: [/etc/passwd]}\n"), 422, "files of the cluster's machine cannot be read"},
		"an include":      {http.MethodPost, "", document(header + steps + "include: {file: /etc/passwd}\n"), 422, "files of the cluster's machine cannot be read"},
		"a kustomization": {http.MethodPost, "", document(header + steps + "apply: {kustomize: [/tmp]}\n"), 422, "kustomization can only be read"},
		"a snapshot":      {http.MethodPost, "", document(strings.Replace(header, "nodes: 1", "snapshot: /etc/passwd", 1) + steps + "sleep: 1s\n"), 422, "files of the cluster's machine cannot be read"},
		"more nodes":      {http.MethodPost, "", `{"name": "pod-kill"}`, 422, "it needs 3 nodes, and this cluster has 1"},
		"many steps":      {http.MethodPost, "", document(header + "  steps:\n" + strings.Repeat("    - sleep: 1s\n", 1001)), 400, "may have 1000 steps"},
		"a variable":      {http.MethodPost, "", `{"name": "pod-kill-storm", "set": {"X": "1"}}`, 422, "X"},
		"no run":          {http.MethodGet, "/runs/run-9", "", 404, ""},
		"no scenario":     {http.MethodGet, "/nothing", "", 404, ""},
		"a method":        {http.MethodPut, "", "", 405, ""},
		"stop none":       {http.MethodDelete, "/runs/run-9", "", 404, ""},
		"follow":          {http.MethodGet, "/runs?follow=x", "", 400, "neither true nor false"},
	} {
		t.Run(name, func(t *testing.T) {
			var status metav1.Status
			if code := b.ask(test.method, test.path, test.body, &status); code != test.code || int(status.Code) != test.code || !strings.Contains(status.Message, test.want) {
				t.Errorf("got %d: %+v", code, status)
			}
		})
	}
	for _, body := range []string{`{"name": "job-backoff"}`, ""} {
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		res := b.send(b.ConfigFor("eve", "system:authenticated"), method, scenarioapi.Path, body)
		if _ = res.Body.Close(); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s of another user is answered with %d", method, res.StatusCode)
		}
	}
	if _, err := b.Client().CoreV1().Namespaces().Get(t.Context(), "minikcm-job-backoff", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("something ran: %v", err)
	}
}
