package reasons_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/reasons"
)

// read adds the documents of a file to an index, and returns the first one.
func read(t *testing.T, file string) (*unstructured.Unstructured, *reasons.Index) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	index := reasons.NewIndex()
	var first *unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return first, index
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if first == nil {
			first = o
		}
		if o.GetKind() != "Event" {
			index.Add(o.GroupVersionKind(), o)
			continue
		}
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e); err != nil {
			t.Fatal(err)
		}
		revision, err := strconv.ParseInt(e.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		index.AddEvent(reasons.EventOf(&e, revision))
	}
}

func printed(r reasons.Report) string {
	if r.State == reasons.AsExpected {
		return "as expected\n"
	}
	return r.Title() + "\n  " + strings.Join(r.Lines(), "\n  ") + "\n"
}

// TestOf checks that the first line about each problem is the most important one.
func TestOf(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			object, index := read(t, file)
			before := object.DeepCopy()
			got := printed(reasons.Of(index.Subject(object)))
			if fmt.Sprint(before) != fmt.Sprint(object) {
				t.Error("the object was changed")
			}
			golden.Compare(t, strings.TrimSuffix(file, "yaml")+"golden", got)
		})
	}
}

// TestPresent explains why objects that should be gone still exist.
func TestPresent(t *testing.T) {
	t.Parallel()
	pod, index := read(t, "testdata/pod-ready.yaml")
	if got := reasons.Present(index.Subject(pod)); got.State != reasons.AsExpected {
		t.Errorf("nothing keeps the pod, but: %s", printed(got))
	}
	budget, _ := read(t, "testdata/budget.yaml")
	if err := unstructured.SetNestedStringMap(budget.Object, map[string]string{"app": "web"}, "spec", "selector", "matchLabels"); err != nil {
		t.Fatal(err)
	}
	index.Add(budget.GroupVersionKind(), budget)
	want := "Guarded by\n  poddisruptionbudget/web: disruptionsAllowed is 0 (InsufficientPods): 3 of 3 pods are healthy, and 3 must be\n"
	if got := printed(reasons.Present(index.Subject(pod))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	ending, index := read(t, "testdata/held-by-finalizer.yaml")
	if got := reasons.Present(index.Subject(ending)); got.State != reasons.NotGone || len(got.Reasons) == 0 {
		t.Errorf("got %s", printed(got))
	}
}

// TestMakers checks that the objects that would create missing pods explain why they are
// missing.
func TestMakers(t *testing.T) {
	t.Parallel()
	deployment, index := read(t, "testdata/deployment-quota.yaml")
	if err := unstructured.SetNestedStringMap(deployment.Object, map[string]string{"app": "web"}, "spec", "template", "metadata", "labels"); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]int{"app=web": 1, "": 1, "app=db": 0} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		for namespace, there := range map[string]bool{"shop": true, "": true, "other": false} {
			if got := len(index.Makers(namespace, parsed)); got != want && there || got != 0 && !there {
				t.Errorf("%d makers of %q in %q", got, selector, namespace)
			}
		}
	}
}

// TestManyParts checks that typed objects work like untyped ones, and that few parts are
// examined if there are many.
func TestManyParts(t *testing.T) {
	t.Parallel()
	index := reasons.NewIndex()
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for i := range 1000 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-%03d", i), Namespace: "shop",
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "r", Controller: new(true)}},
		}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: strings.Repeat("full ", 200)}}
		if i < 500 {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		index.Add(kind, pod)
	}
	object, _ := read(t, "testdata/replicaset-waits.yaml")
	s := index.Subject(object)
	if len(s.Parts) != 200 || s.MoreParts != 300 {
		t.Errorf("%d parts, and %d more", len(s.Parts), s.MoreParts)
	}
	report := reasons.Of(s)
	if len(report.Reasons) != 2 || report.Reasons[0].Object != "pod/web-500" || report.Reasons[0].Others != 199 {
		t.Errorf("got %s", printed(report))
	}
	if n := utf8.RuneCountInString(report.Reasons[0].Message); n > 300 {
		t.Errorf("the message has %d characters", n)
	}
}

// TestEndlessParts checks that objects that own each other, or very many, cost little.
func TestEndlessParts(t *testing.T) {
	t.Parallel()
	index := reasons.NewIndex()
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Ring"}
	var first *unstructured.Unstructured
	for i := range 100 {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		o.SetName(fmt.Sprint("ring-", i))
		o.SetUID("ring")
		o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Ring", Name: "ring-0", UID: "ring", Controller: new(true)}})
		index.Add(kind, o)
		if first == nil {
			first = o
		}
	}
	if got := reasons.Of(index.Subject(first)); got.State != reasons.AsExpected {
		t.Errorf("got %s", printed(got))
	}
}

// TestUnexpected checks that all objects that are not as expected are found, typed or not.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	index := reasons.NewIndex()
	for _, file := range []string{"deployment-unschedulable", "pod-ready", "budget"} {
		_, from := read(t, "testdata/"+file+".yaml")
		from.Unexpected(func(o *unstructured.Unstructured, _ reasons.Report) bool {
			index.Add(o.GroupVersionKind(), o)
			return true
		})
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	index.Add(kind, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	index.Add(kind, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", DeletionTimestamp: new(metav1.Unix(1, 0)), Finalizers: []string{"example.com/hold"}}})
	var got []string
	index.Unexpected(func(o *unstructured.Unstructured, r reasons.Report) bool {
		got = append(got, r.Sentence(reasons.Name(o)))
		return len(got) < 6
	})
	want := []string{
		"deployment/big: not ready because pod/big-1-a and 1 more: PodScheduled is False (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.",
		"replicaset/big-1: not ready because pod/big-1-a and 1 more: PodScheduled is False (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.",
		"pod/big-1-a: not ready because PodScheduled is False (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.",
		"pod/big-1-b: not ready because PodScheduled is False (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.",
		"poddisruptionbudget/web: allows no disruption because disruptionsAllowed is 0 (InsufficientPods): 3 of 3 pods are healthy, and 3 must be",
		"configmap/held: being deleted, still there because it waits for its finalizers: example.com/hold",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEndingPods checks the reasons why a pod that is being deleted still exists.
func TestEndingPods(t *testing.T) {
	t.Parallel()
	running, ended := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for _, tt := range []struct {
		states     []corev1.ContainerState
		finalizers []string
		want       string
	}{
		{[]corev1.ContainerState{ended, running}, nil, "its containers are ending: they have 30 s of grace"},
		{nil, nil, "its containers are ending: they have 30 s of grace"},
		{[]corev1.ContainerState{ended, ended}, nil, "its containers have ended: its kubelet is about to remove it"},
		{[]corev1.ContainerState{ended}, []string{"example.com/hold"}, "it waits for its finalizers: example.com/hold"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "p", DeletionTimestamp: new(metav1.Unix(1, 0)), DeletionGracePeriodSeconds: new(int64(30)), Finalizers: tt.finalizers,
		}}
		for _, state := range tt.states {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
		}
		index := reasons.NewIndex()
		index.Add(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
		index.Unexpected(func(o *unstructured.Unstructured, r reasons.Report) bool {
			if got, want := r.Sentence(reasons.Name(o)), "pod/p: being deleted, still there because "+tt.want; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			return true
		})
	}
}
