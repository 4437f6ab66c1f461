package faultapi

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// faultObjects returns a client of the Faults of a cluster.
func (b *bench) faultObjects() dynamic.ResourceInterface {
	b.t.Helper()
	client, err := dynamic.NewForConfig(b.Config())
	if err != nil {
		b.t.Fatal(err)
	}
	return client.Resource(liveResource.WithVersion("v1alpha1"))
}

// faultOf returns a Fault with a spec in YAML.
func faultOf(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetAPIVersion(liveFault.Group + "/v1alpha1")
	o.SetKind(liveFault.Kind)
	o.SetName(name)
	return o
}

func stateOf(o *unstructured.Unstructured) State {
	state, _, _ := unstructured.NestedString(o.Object, "status", "state")
	return State(state)
}

// A Fault is injected when it is created, shown as it runs, and taken back when it is deleted.
func TestFaultObject(t *testing.T) {
	b := newBench(t)
	objects := b.faultObjects()
	events, err := objects.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if _, err := objects.Create(t.Context(), faultOf(t, "lost", "nodes: {action: crash, names: [node-1]}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := map[State]bool{}
	for event := range events.ResultChan() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok && o.GetName() == "lost" {
			if seen[stateOf(o)] = true; stateOf(o) == Active {
				break
			}
		}
	}
	if !seen[Active] {
		t.Fatalf("the watch has shown %v", seen)
	}
	b.advance(time.Minute)
	if ready := b.ready("node-1"); ready != corev1.ConditionUnknown {
		t.Errorf("a minute later the node is Ready=%s", ready)
	}
	if listed, err := b.client.List(t.Context()); err != nil || len(listed.Items) != 1 || listed.Items[0].Title != "crash nodes node-1" || listed.Items[0].User != "kubernetes-admin" {
		t.Errorf("/minikcm/v1/faults has %+v, %v", listed, err)
	}
	if err := objects.Delete(t.Context(), "lost", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	if ready := b.ready("node-1"); ready != corev1.ConditionTrue {
		t.Errorf("a minute after its end, the node is Ready=%s", ready)
	}
	if _, err := objects.Get(t.Context(), "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	for event := range events.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	t.Error("the watch ended without its deletion")
}

// Faults of other requests are shown and deleted as objects, too, and end by themselves.
func TestFaultObjectOfOthers(t *testing.T) {
	b := newBench(t)
	objects := b.faultObjects()
	id := b.inject("{nodes: {action: cordon, names: [node-0]}, for: 1m}")
	b.want(id, Active)
	o, err := objects.Get(t.Context(), id, metav1.GetOptions{})
	if err != nil || stateOf(o) != Active {
		t.Fatalf("it is %v, %v", o, err)
	}
	b.advance(2 * time.Minute)
	if o, err = objects.Get(t.Context(), id, metav1.GetOptions{}); err != nil || stateOf(o) != Over {
		t.Errorf("after its end it is %v, %v", o, err)
	}
	if err := objects.Delete(t.Context(), id, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if listed, err := b.client.List(t.Context()); err != nil || len(listed.Items) > 0 {
		t.Errorf("it is still listed: %v, %v", listed, err)
	}
}

// A Fault that ends etcd can be deleted while it lasts.
func TestFaultObjectWithoutStore(t *testing.T) {
	b := newBench(t)
	objects := b.faultObjects()
	if _, err := objects.Create(t.Context(), faultOf(t, "away", "etcd: {action: unavailable}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.want("away", Active)
	if _, err := b.Client().CoreV1().Nodes().Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err == nil {
		t.Error("etcd is there")
	}
	if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if node := b.node("node-0"); node.Labels["a"] != "" {
		t.Error("the write has been made")
	}
}

// Faults that make no sense are refused with a cause for each field, and running ones cannot be changed.
func TestFaultObjectRefuses(t *testing.T) {
	b := newBench(t)
	objects := b.faultObjects()
	_, err := objects.Create(t.Context(), faultOf(t, "bad", "{nodes: {action: explode, names: [node-0]}, for: x}"), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.nodes.action") || !strings.Contains(err.Error(), "spec.for") {
		t.Errorf("two mistakes: %v", err)
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for spec, want := range map[string]string{
		"{nodes: {action: explode, names: [node-0]}, for: x}": "spec.nodes.action",
		"{}": "",
		"{nodes: {action: cordon}, pods: {action: kill}}":       "spec",
		"{controllers: {action: stop, names: [no-controller]}}": "no-controller",
	} {
		if _, err := objects.Create(t.Context(), faultOf(t, "bad", spec), dry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a dry run of %s: %v", spec, err)
		}
	}
	if _, err := objects.Create(t.Context(), faultOf(t, "dry", "nodes: {action: cordon, names: [node-0]}"), dry); err != nil {
		t.Errorf("a dry run of a fault: %v", err)
	}
	if listed, err := b.client.List(t.Context()); err != nil || len(listed.Items) > 0 {
		t.Errorf("it is injected: %v, %v", listed, err)
	}
	if _, err := objects.Create(t.Context(), faultOf(t, "none", "{}"), metav1.CreateOptions{}); err == nil {
		t.Error("a Fault without a fault is accepted")
	}
	if _, err := objects.Create(t.Context(), faultOf(t, "one", "nodes: {action: cordon, names: [node-0]}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Create(t.Context(), faultOf(t, "one", "nodes: {action: cordon, names: [node-1]}"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same name again: %v", err)
	}
	if _, err := objects.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"for":"1m"}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another spec: %v", err)
	}
	if _, err := objects.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"labels":{"drill":"1"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a label: %v", err)
	}
	if all, err := objects.List(t.Context(), metav1.ListOptions{LabelSelector: "drill=1"}); err != nil || len(all.Items) != 1 {
		t.Errorf("by label there are %v, %v", all, err)
	}
}
