package minikcmapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenarioapi"
)

// kindClient returns a client of a kind of the simulation.
func kindClient(t *testing.T, cluster *minikcm.Cluster, plural string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "simulation.minikcm.dev", Version: "v1alpha1", Resource: plural})
}

// objectOf returns an object of a kind of the simulation with a spec in YAML.
func objectOf(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetAPIVersion("simulation.minikcm.dev/v1alpha1")
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// condition returns the reason of a condition that is true; empty if it is not.
func condition(t *testing.T, o *unstructured.Unstructured, kind string) string {
	t.Helper()
	all, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if c := one.(map[string]any); c["type"] == kind && c["status"] == "True" {
			return c["reason"].(string)
		}
	}
	return ""
}

// until watches the objects until is returns true of the one of that name, which it returns.
func until(t *testing.T, objects dynamic.ResourceInterface, name string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].GetName() == name && is(&list.Items[i]) {
			return &list.Items[i]
		}
	}
	events, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted && o.GetName() == name && is(o) {
			return o
		}
	}
	t.Fatalf("the watch ended before %s was as expected", name)
	return nil
}

func isOver(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return len(conditions) > 0
}

func create(t *testing.T, objects dynamic.ResourceInterface, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := objects.Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A ScenarioRun runs when it is created, in each form of its spec, and ends with a condition and a report.
func TestScenarioRunObject(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	runs := kindClient(t, b.Cluster.Cluster, "scenarioruns")
	for name, test := range map[string]struct{ spec, condition, reason string }{
		"shipped":   {`{name: job-backoff, seed: 7}`, "Complete", "Passed"},
		"document":  {"document: |\n" + indent(header+"  steps: [{name: nap, sleep: 1h}]"), "Complete", "Passed"},
		"inline":    {"{scenario: {timeout: 2h, vars: {LONG: 1s}, steps: [{name: nap, sleep: '${LONG}'}]}, set: {LONG: 1h}}", "Complete", "Passed"},
		"fails":     {"scenario: {timeout: 3h, steps: [{sleep: 1s}, {name: two, expect: {within: 1h, counts: [{target: nodes, equals: 3}]}}, {sleep: 1s}]}", "Failed", "StepFailed"},
		"invariant": {"scenario: {timeout: 3h, invariants: [{name: none, always: {counts: [{target: nodes, equals: 3}]}}], steps: [{sleep: 1h}]}", "Failed", "InvariantFailed"},
	} {
		create(t, runs, objectOf(t, "ScenarioRun", name, test.spec))
		o := until(t, runs, name, isOver)
		if got := condition(t, o, test.condition); got != test.reason {
			t.Errorf("%s ends with %v, want %s: %s", name, o.Object["status"], test.condition, test.reason)
		}
		path := stringOf(t, o, "status.report.path")
		res := b.send(b.Config(), http.MethodGet, path, "")
		if _ = res.Body.Close(); path == "" || res.StatusCode != http.StatusOK {
			t.Errorf("%s: the report at %q is answered with %d", name, path, res.StatusCode)
		}
		if stringOf(t, o, "status.startTime") == "" || stringOf(t, o, "status.completionTime") == "" || stringOf(t, o, "status.user") != "kubernetes-admin" {
			t.Errorf("%s is %v", name, o.Object["status"])
		}
	}
	o, err := runs.Get(t.Context(), "fails", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := stringOf(t, o, "status.step"); got != "2/3 two" {
		t.Errorf("it failed at the step %q", got)
	}
	if failures, _, _ := unstructured.NestedInt64(o.Object, "status", "failures"); failures != 1 {
		t.Errorf("it has %d failures", failures)
	}
	var listed []scenarioapi.Run
	if b.ask(http.MethodGet, "/runs", "", &listed); len(listed) != 5 {
		t.Errorf("/minikcm/v1 lists %+v", listed)
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// A ScenarioRun that is deleted is stopped, and its faults are taken back. Runs of requests are objects, too, and the
// other way round.
func TestScenarioRunObjectOfOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	runs := kindClient(t, b.Cluster.Cluster, "scenarioruns")
	create(t, runs, objectOf(t, "ScenarioRun", "long", "scenario: {timeout: 10000h, steps: [{fault: {nodes: {action: cordon, names: [node-0]}}}, {name: sleeps, sleep: 9000h}]}"))
	until(t, runs, "long", func(o *unstructured.Unstructured) bool { return stringOf(t, o, "status.step") == "2/2 sleeps" })
	b.Pacer().Pause()
	if _, err := runs.Create(t.Context(), objectOf(t, "ScenarioRun", "second", "name: job-backoff"), metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a second run is answered with %v", err)
	}
	var run scenarioapi.Run
	if code := b.ask(http.MethodGet, "/runs/long", "", &run); code != http.StatusOK || run.State != scenarioapi.Running {
		t.Errorf("/minikcm/v1 shows it with %d as %+v", code, run)
	}
	if err := runs.Delete(t.Context(), "long", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.faults(); got != "cordon nodes node-0: Over" {
		t.Errorf("after its end the faults are %s", got)
	}
	if _, err := runs.Get(t.Context(), "long", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	b.Pacer().Resume()
	begun := b.begin(document(header + "  steps: [{sleep: 9000h}]\n"))
	if o, err := runs.Get(t.Context(), begun.ID, metav1.GetOptions{}); err != nil || !strings.Contains(stringOf(t, o, "spec.document"), "9000h") || stringOf(t, o, "status.phase") != "Running" {
		t.Errorf("a run of a request is shown as %v, %v", o, err)
	}
	if code := b.ask(http.MethodDelete, "/runs/"+begun.ID, "", &run); code != http.StatusOK {
		t.Errorf("it is stopped with %d", code)
	}
	o, err := runs.Get(t.Context(), begun.ID, metav1.GetOptions{})
	if err != nil || condition(t, o, "Failed") != "Stopped" {
		t.Errorf("stopped, it is shown as %v, %v", o, err)
	}
	if err := runs.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	var listed []scenarioapi.Run
	if b.ask(http.MethodGet, "/runs", "", &listed); len(listed) > 0 {
		t.Errorf("deleted runs are listed: %+v", listed)
	}
}

// A run that has ended has its report, also if it was stopped before it could begin or could not.
func TestReportOfEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	for range 20 {
		run := b.begin(`{"name": "job-backoff"}`)
		if code := b.ask(http.MethodDelete, "/runs/"+run.ID, "", run); code != http.StatusOK || !run.State.Done() || run.Report == nil {
			t.Fatalf("stopped with %d, it is %+v", code, run)
		}
		res := b.send(b.Config(), http.MethodGet, scenarioapi.Path+"/runs/"+run.ID+"/report", "")
		if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
			t.Fatalf("its report is answered with %d: %+v", res.StatusCode, run)
		}
	}
	run := b.begin(document(header + "  steps: [{apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: default}}]}}]\n"))
	if run = b.follow(run.ID, nil); run.State != scenarioapi.Failed || run.Report == nil || len(run.Report.Failures) != 1 {
		t.Errorf("a run that may not overwrite an object is %+v", run)
	}
}

// What cannot run is refused with a cause for each field, also by a dry run, which runs nothing.
func TestScenarioRunObjectRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	runs := kindClient(t, b.Cluster.Cluster, "scenarioruns")
	for spec, want := range map[string][]string{
		"{}":                                   {"spec: "},
		"{name: job-backoff, document: x}":     {"spec: Invalid value: only one of"},
		"{name: job-bakoff}":                   {"spec.name: ", "job-backoff"},
		"{name: pod-kill}":                     {"spec.name: ", "it needs 3 nodes"},
		"{name: job-backoff, namespace: No_X}": {"spec.namespace: "},
		"{name: crashloop, set: {X: '1'}}":     {"spec.set[X]: Invalid value: there is no such variable"},
		"{name: 5}":                            {"spec.name"},
		"{name: job-backoff, seed: -1}":        {"spec.seed"},
		"{name: job-backoff, seed: x}":         {"spec.seed"},
		"{name: job-backoff, set: {X: {}}}":    {"spec.set.X"},
		"{document: 'a: [b'}":                  {"spec.document: Invalid value: line"},
		"{document: '# nothing'}":              {"spec.document: Invalid value: there is no scenario in it"},
		"{scenario: {}}":                       {"spec.scenario.steps: Invalid value: is empty"},
		"{scenario: {steps: [{sleep: 1s}, {slep: 1s}, {sleep: x}]}}":                             {"spec.scenario.steps[1].slep: ", "spec.scenario.steps[2].sleep: "},
		"{scenario: {steps: [{sleep: 1s}, {parallel: [{sleep: 1s}, {script: {run: 'true'}}]}]}}": {"spec.scenario.steps[1].parallel[1].script: Invalid value: programs cannot be run"},
		"{scenario: {steps: [{sleep: 1s}], finally: [{include: {file: /etc/passwd}}]}}":          {"spec.scenario.finally[0].include"},
		"{scenario: {cluster: {nodes: 3}, steps: [{kubectl: {args: [get, pods]}}]}}":             {"spec.scenario.steps[0].kubectl: "},
		"{scenario: {cluster: {nodes: 3, snapshot: /etc/passwd}, steps: [{sleep: 1s}]}}":         {"spec.scenario.cluster"},
		"{scenario: {cluster: {nodes: 3}, steps: [{sleep: 1s}]}}":                                {"spec.scenario.cluster.nodes: Invalid value: it needs 3 nodes"},
		"{scenario: [1]}": {"spec.scenario"},
		"scenario: {timeout: 1h, steps: [" + strings.Repeat("{sleep: 1s}, ", 1001) + "]}":      {"may have 1000 steps"},
		"document: '" + strings.Repeat("#", 262145) + "'":                                      {"262144"},
		"scenario: {description: '" + strings.Repeat("#", 262145) + "', steps: [{sleep: 1s}]}": {"262144"},
	} {
		for _, dry := range []string{"", metav1.DryRunAll} {
			opts := metav1.CreateOptions{}
			if dry != "" {
				opts.DryRun = []string{dry}
			}
			_, err := runs.Create(t.Context(), objectOf(t, "ScenarioRun", "bad", spec), opts)
			var text strings.Builder
			var status apierrors.APIStatus
			if status, _ = err.(apierrors.APIStatus); status == nil {
				t.Errorf("%.80s is answered with %v", spec, err)
				continue
			}
			if details := status.Status().Details; details != nil {
				for _, cause := range details.Causes {
					fmt.Fprintf(&text, "%s: %s\n", cause.Field, cause.Message)
				}
			}
			for _, part := range want {
				if !strings.Contains(text.String(), part) && !strings.Contains(err.Error(), part) {
					t.Errorf("%.80s (dry run %q) is refused with %q\n%v, want %q", spec, dry, text.String(), err, part)
				}
			}
		}
	}
	made, err := runs.Create(t.Context(), objectOf(t, "ScenarioRun", "dry", "{scenario: {steps: [{sleep: 1s}]}}"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || made.GetName() != "dry" {
		t.Errorf("a dry run is answered with %v, %v", made, err)
	}
	var listed []scenarioapi.Run
	if b.ask(http.MethodGet, "/runs", "", &listed); len(listed) > 0 {
		t.Errorf("something ran: %+v", listed)
	}
	create(t, runs, objectOf(t, "ScenarioRun", "one", "{scenario: {steps: [{sleep: 1s}]}}"))
	until(t, runs, "one", isOver)
	if _, err := runs.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"seed":5}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another spec: %v", err)
	}
	if _, err := runs.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"labels":{"drill":"1"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a label: %v", err)
	}
	if o, err := runs.Get(t.Context(), "one", metav1.GetOptions{}); err != nil || o.GetLabels()["drill"] != "1" || condition(t, o, "Complete") != "Passed" {
		t.Errorf("with a label it is %v, %v", o, err)
	}
	if _, err := runs.Create(t.Context(), objectOf(t, "ScenarioRun", "one", "{scenario: {steps: [{sleep: 1s}]}}"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same name again: %v", err)
	}
}
