package chaosmesh

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var madeUp = regexp.MustCompile(`-[0-9a-z]{5}\b`)

// eventsOf returns the events of a kind, each once, in alphabetical order.
func (b *bench) eventsOf(kind string) []string {
	b.Helper()
	var lines []string
	for _, e := range b.events("involvedObject.kind=" + kind) {
		lines = append(lines, madeUp.ReplaceAllString(fmt.Sprintf("%s %s %s: %s", e.InvolvedObject.Name, e.Type, e.Reason, e.Message), "-X"))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (b *bench) wantEvents(kind string, want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.eventsOf(kind)); diff != "" {
		b.Errorf("events of kind %s (-want +got):\n%s", kind, diff)
	}
}

func TestEventsOfSchedule(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(head + `
kind: Schedule
metadata: {name: often, namespace: default}
spec:
  schedule: "*/2 * * * *"
  type: PodChaos
  podChaos: {action: pod-failure, mode: one, duration: 150s, selector: {labelSelectors: {app: web}}}
`)
	b.advance(9 * time.Minute)
	b.wantEvents(KindSchedule,
		"often Normal Spawned: Create new object: often-X",
		"often Normal Updated: Successfully update lastScheduleTime of resource",
		"often Warning Forbid: Forbid spawning new job because: often-X is still running",
	)
}

// Users wait for the events of a workflow, and look at its nodes.
func TestEventsOfWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(head + `
kind: Workflow
metadata: {name: flow, namespace: default}
spec:
  entry: all
  templates:
  - {name: all, templateType: Serial, deadline: 2m, children: [both, long]}
  - {name: both, templateType: Parallel, children: [fail, rest]}
  - {name: rest, templateType: Suspend, deadline: 1m}
  - {name: long, templateType: Suspend, deadline: 1h}
  - {name: fail, templateType: PodChaos, deadline: 30s, podChaos: {action: pod-failure, mode: all, selector: {labelSelectors: {app: web}}}}
`)
	b.advance(10 * time.Second)
	entry, _, _ := unstructured.NestedString(b.get(KindWorkflow, "flow").Object, "status", "entryNode")
	if active := b.names(entry, "activeChildren"); !slices.Equal(active, []string{"both-X"}) {
		t.Errorf("the entry node has the active children %v", active)
	}
	b.advance(3 * time.Minute)
	b.wantEvents(KindWorkflow,
		"flow Normal EntryCreated: entry node created, entry node all-X",
		"flow Normal WorkflowAccomplished: workflow accomplished",
	)
	b.wantEvents(KindWorkflowNode,
		"all-X Normal NodeDeadlineExceed: deadline exceed",
		"all-X Normal NodesCreated: child nodes created, both-X",
		"all-X Normal NodesCreated: child nodes created, long-X",
		"both-X Normal NodeAccomplished: node accomplished",
		"both-X Normal NodesCreated: child nodes created, fail-X,rest-X",
		"fail-X Normal ChaosCRCreated: chaos CR fail-X-X created",
		"fail-X Normal ChaosCRDeleted: chaos CR fail-X-X deleted",
		"fail-X Normal NodeDeadlineExceed: deadline exceed",
		"long-X Normal ParentNodeDeadlineExceed: deadline exceed bscause parent node all-X deadline exceed",
		"rest-X Normal NodeDeadlineExceed: deadline exceed",
	)
	if finished := b.names(entry, "finishedChildren"); !slices.Equal(finished, []string{"both-X"}) {
		t.Errorf("the entry node has the finished children %v", finished)
	}
	nodes := b.list(KindWorkflowNode, labelWorkflow+"=flow")
	if len(nodes) != 5 {
		t.Errorf("there are %d nodes", len(nodes))
	}
	for i := range nodes {
		n := &nodes[i]
		name, _, _ := unstructured.NestedString(n.Object, "spec", "templateName")
		if holds(n, "Accomplished") != (name == "both") || holds(n, "DeadlineExceed") == (name == "both") {
			t.Errorf("node %s: %v", name, n.Object["status"])
		}
	}
}

// names returns the names that a node's status refers to.
func (b *bench) names(node, field string) []string {
	b.Helper()
	list, _, err := unstructured.NestedSlice(b.get(KindWorkflowNode, node).Object, "status", field)
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, reference := range list {
		names = append(names, madeUp.ReplaceAllString(fmt.Sprint(reference.(map[string]any)["name"]), "-X"))
	}
	return names
}

// When a workflow is deleted, its objects are deleted and its faults taken back.
func TestWorkflowIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(head + `
kind: Workflow
metadata: {name: flow, namespace: default}
spec:
  entry: all
  templates:
  - {name: all, templateType: Serial, children: [fail]}
  - {name: fail, templateType: PodChaos, deadline: 30m, podChaos: {action: pod-failure, mode: all, selector: {labelSelectors: {app: web}}}}
`)
	b.advance(10 * time.Second)
	if len(b.pods()) != 0 {
		t.Errorf("%d pods are ready", len(b.pods()))
	}
	if err := b.dynamic.Resource(resourceOf(KindWorkflow)).Namespace("default").Delete(t.Context(), "flow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	if len(b.pods()) != 3 {
		t.Errorf("%d pods are ready in the end", len(b.pods()))
	}
	for _, kind := range []string{KindWorkflowNode, KindPodChaos} {
		if list := b.list(kind, ""); len(list) != 0 {
			t.Errorf("%d objects of kind %s are left", len(list), kind)
		}
	}
}

func TestEventsOfPodChaos(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(head + `
kind: PodChaos
metadata: {name: failure, namespace: default}
spec: {action: pod-failure, mode: all, selector: {labelSelectors: {app: web}}}
`)
	b.advance(10 * time.Second)
	resource := b.dynamic.Resource(resourceOf(KindPodChaos)).Namespace("default")
	pause := func(to string) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, pauseAnnotation, to)
		if _, err := resource.Patch(t.Context(), "failure", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		b.advance(10 * time.Second)
	}
	pause(`"true"`)
	if paused := b.get(KindPodChaos, "failure"); !holds(paused, "Paused") || !holds(paused, "AllRecovered") || len(b.pods()) != 3 {
		t.Errorf("paused, %d pods are ready: %v", len(b.pods()), paused.Object["status"])
	}
	pause("null")
	if again := b.get(KindPodChaos, "failure"); holds(again, "Paused") || !holds(again, "AllInjected") || len(b.pods()) != 0 {
		t.Errorf("going on, %d pods are ready: %v", len(b.pods()), again.Object["status"])
	}
	if err := resource.Delete(t.Context(), "failure", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(10 * time.Second)
	want := map[string]bool{"Started": false, "Applied": false, "Paused": false, "Recovered": false, "Deleted": false}
	for _, reason := range b.reasons("involvedObject.kind=" + KindPodChaos) {
		want[reason] = true
	}
	for reason, was := range want {
		if !was {
			t.Errorf("there is no event %s", reason)
		}
	}
}
