package chaosmesh

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// bench is a cluster of three pods on which a controller runs.
type bench struct {
	*testing.T
	cluster *minikcm.Cluster
	dynamic dynamic.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := minikcm.Start(ctx, minikcm.Options{Nodes: minikcm.NodeOptions{Count: 2}, API: minikcm.APIOptions{NoHTTPS: true}, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{T: t, cluster: cluster}
	if b.dynamic, err = dynamic.NewForConfig(jsonConfig(cluster.Config())); err != nil {
		t.Fatal(err)
	}
	if err := Install(ctx, cluster.Config()); err != nil {
		t.Fatal(err)
	}
	controller, err := New(cluster, klog.Logger{})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := controller.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	b.web(3)
	return b
}

func (b *bench) web(replicas int32) {
	b.Helper()
	labels := map[string]string{"app": "web"}
	_, err := b.cluster.Client().AppsV1().Deployments("default").Create(b.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.advance(10 * time.Second)
}

func (b *bench) advance(d time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	if err := b.cluster.Advance(ctx, d); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) apply(text string) *unstructured.Unstructured {
	b.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		b.Fatal(err)
	}
	made, err := b.dynamic.Resource(resourceOf(object.GetKind())).Namespace("default").Create(b.Context(), object, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// list are the objects of a kind.
func (b *bench) list(kind, selector string) []unstructured.Unstructured {
	b.Helper()
	list, err := b.dynamic.Resource(resourceOf(kind)).Namespace("default").List(b.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

// reasons returns the reasons of the events that the field selector about matches, in the order of
// the list.
func (b *bench) reasons(about string) (reasons []string) {
	b.Helper()
	for _, e := range b.events(about) {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func (b *bench) events(about string) []corev1.Event {
	b.Helper()
	list, err := b.cluster.Client().CoreV1().Events("default").List(b.Context(), metav1.ListOptions{FieldSelector: about})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b *bench) get(kind, name string) *unstructured.Unstructured {
	b.Helper()
	object, err := b.dynamic.Resource(resourceOf(kind)).Namespace("default").Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return object
}

// pods returns the names of the ready pods.
func (b *bench) pods() map[string]bool {
	b.Helper()
	list, err := b.cluster.Client().CoreV1().Pods("default").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	names := map[string]bool{}
	for _, pod := range list.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				names[pod.Name] = true
			}
		}
	}
	return names
}

// killedBy checks that the experiment is why the pod is gone.
func (b *bench) killedBy(pod, experiment string) {
	b.Helper()
	why, err := b.cluster.Why(b.Context(), minikcm.Query{Kind: "Pod", Namespace: "default", Name: pod})
	if err != nil {
		b.Fatal(err)
	}
	if why.Deletion == nil || len(why.Deletion.Because) != 1 || why.Deletion.Because[0].Name != experiment {
		b.Errorf("pod %s is gone because of %+v, want %s", pod, why.Deletion, experiment)
	}
}

const head = "apiVersion: chaos-mesh.org/v1alpha1\n"

func TestPodKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.pods()
	b.apply(head + `
kind: PodChaos
metadata: {name: kill, namespace: default}
spec:
  action: pod-kill
  mode: fixed
  value: "2"
  selector: {namespaces: [default], labelSelectors: {app: web}}
`)
	b.advance(30 * time.Second)
	kept := 0
	for name := range b.pods() {
		if before[name] {
			kept++
		}
	}
	for name := range before {
		if !b.pods()[name] {
			b.killedBy(name, "kill")
		}
	}
	object := b.get(KindPodChaos, "kill")
	records, _, _ := unstructured.NestedSlice(object.Object, "status", "experiment", "containerRecords")
	if kept != 1 || len(b.pods()) != 3 || len(records) != 2 || !holds(object, "AllInjected") || !holds(object, "Selected") {
		t.Errorf("%d pods are left of before, %d are ready, status %v", kept, len(b.pods()), object.Object["status"])
	}
	if reasons := strings.Join(b.reasons("involvedObject.name=kill"), " "); strings.Count(reasons, "Applied") != 2 || !strings.Contains(reasons, "Started") {
		t.Errorf("events: %s", reasons)
	}
}

const failure = head + `
kind: PodChaos
metadata: {name: failure, namespace: default}
spec:
  action: pod-failure
  mode: all
  duration: 60s
  selector: {labelSelectors: {app: web}}
`

func TestPodFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(failure)
	b.advance(30 * time.Second)
	if len(b.pods()) != 0 || !holds(b.get(KindPodChaos, "failure"), "AllInjected") {
		t.Errorf("meanwhile %d pods are ready, status %v", len(b.pods()), b.get(KindPodChaos, "failure").Object["status"])
	}
	b.advance(time.Minute)
	object := b.get(KindPodChaos, "failure")
	if phase, _, _ := unstructured.NestedString(object.Object, "status", "experiment", "desiredPhase"); phase != "Stop" || !holds(object, "AllRecovered") || len(b.pods()) != 3 {
		t.Errorf("in the end %d pods are ready, status %v", len(b.pods()), object.Object["status"])
	}
}

// What was broken is mended when the experiment is deleted.
func TestDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(failure)
	b.advance(10 * time.Second)
	if err := b.dynamic.Resource(resourceOf(KindPodChaos)).Namespace("default").Delete(t.Context(), "failure", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(10 * time.Second)
	if len(b.pods()) != 3 {
		t.Errorf("%d pods are ready", len(b.pods()))
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply(head + `
kind: Schedule
metadata: {name: often, namespace: default}
spec:
  schedule: "*/2 * * * *"
  historyLimit: 2
  concurrencyPolicy: Forbid
  type: PodChaos
  podChaos:
    action: container-kill
    mode: one
    containerNames: [web]
    selector: {labelSelectors: {app: web}}
`)
	b.advance(11 * time.Minute)
	if list := b.list(KindPodChaos, ""); len(list) != 2 {
		t.Errorf("%d experiments are left", len(list))
	}
	restarts := int32(0)
	pods, err := b.cluster.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		restarts += pod.Status.ContainerStatuses[0].RestartCount
	}
	if restarts != 5 {
		t.Errorf("containers were started again %d times", restarts)
	}
}

func TestWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.pods()
	b.apply(head + `
kind: Workflow
metadata: {name: flow, namespace: default}
spec:
  entry: all
  templates:
  - {name: all, templateType: Serial, deadline: 10m, children: [both, rest, kill]}
  - {name: both, templateType: Parallel, children: [fail, rest]}
  - {name: rest, templateType: Suspend, deadline: 1m}
  - name: fail
    templateType: PodChaos
    deadline: 30s
    podChaos: {action: pod-failure, mode: all, selector: {labelSelectors: {app: web}}}
  - name: kill
    templateType: PodChaos
    deadline: 20s
    podChaos: {action: pod-kill, mode: all, selector: {labelSelectors: {app: web}}}
`)
	b.advance(10 * time.Second)
	if len(b.pods()) != 0 {
		t.Errorf("at first %d pods are ready", len(b.pods()))
	}
	b.advance(40 * time.Second)
	if len(b.pods()) != 3 {
		t.Errorf("then %d pods are ready", len(b.pods()))
	}
	b.advance(2 * time.Minute)
	object := b.get(KindWorkflow, "flow")
	ended, _, _ := unstructured.NestedString(object.Object, "status", "endTime")
	if !holds(object, "Accomplished") || ended != "2026-01-05T00:02:30Z" {
		t.Errorf("status %v", object.Object["status"])
	}
	for name := range b.pods() {
		if before[name] {
			t.Errorf("%s was not killed", name)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, text := range map[string]string{
		"action":   "kind: PodChaos\nmetadata: {name: action}\nspec: {action: pod-dance, mode: one, selector: {}}",
		"mode":     "kind: PodChaos\nmetadata: {name: mode}\nspec: {action: pod-kill, mode: fixed, selector: {}}",
		"none":     "kind: Workflow\nmetadata: {name: none}\nspec: {entry: a, templates: [{name: a, templateType: Serial, children: [c]}]}",
		"circle":   "kind: Workflow\nmetadata: {name: circle}\nspec: {entry: a, templates: [{name: a, templateType: Serial, children: [a]}]}",
		"schedule": "kind: Schedule\nmetadata: {name: schedule}\nspec: {schedule: often, type: PodChaos, podChaos: {}}",
	} {
		made := b.apply(head + text)
		b.advance(time.Second)
		object := b.get(made.GetKind(), name)
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		if len(conditions) != 1 || conditions[0].(map[string]any)["reason"] == "" {
			t.Errorf("%s: status %v", name, object.Object["status"])
		}
	}
}

// The API server refuses unsupported kinds with the reason, and explains the supported ones.
func TestRefusedKindsAndExplanations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := RefuseOthers(t.Context(), b.cluster.Config()); err != nil {
		t.Fatal(err)
	}
	for kind, reason := range refused() {
		gvr := schema.GroupVersionResource{Group: Group, Version: Version, Resource: strings.ToLower(kind)}
		if !strings.HasSuffix(kind, "Chaos") {
			gvr.Resource += "s"
		}
		_, err := b.dynamic.Resource(gvr).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": Group + "/" + Version, "kind": kind, "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"mode": "one"},
		}}, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), kind+" is not run here: "+reason) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{KindPodChaos, KindSchedule, KindWorkflow, KindWorkflowNode} {
		spec, _, _ := unstructured.NestedMap(all[kind].(map[string]any), "properties", "spec")
		if spec["description"] == nil {
			t.Errorf("%s: its spec has no description", kind)
		}
	}
}
