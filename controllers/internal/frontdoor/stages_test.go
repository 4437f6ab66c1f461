package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/minikcmtest"
)

// stageWorld is a cluster on virtual time with Stages.
type stageWorld struct {
	*minikcmtest.Cluster
	t *testing.T
}

// newStageWorld starts a cluster with the Stages in files of internal/stages/testdata.
func newStageWorld(t *testing.T, files ...string) stageWorld {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Stages.Watch, o.Nodes.Manage, o.Seed = true, minikcm.ManageMarked, 7
		for _, file := range files {
			o.Nodes.Stages.Manifests = append(o.Nodes.Stages.Manifests, stagesIn(t, file)...)
		}
	}))
	return stageWorld{c, t}
}

func stagesIn(t *testing.T, file string) []kwok.Manifest {
	t.Helper()
	data, err := os.ReadFile("../../../internal/stages/testdata/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := minikcm.ParseStages(data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w stageWorld) pass(d time.Duration) {
	w.t.Helper()
	if err := w.Advance(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

func (w stageWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// run creates a pod on node-0.
func (w stageWorld) run(name string, change func(pod *corev1.Pod)) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	if change != nil {
		change(pod)
	}
	_, err := w.Client().CoreV1().Pods("default").Create(w.t.Context(), pod, metav1.CreateOptions{})
	w.must(err)
}

func (w stageWorld) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.Client().CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
	w.must(err)
	return pod
}

// phase fails the test unless the pod has a phase.
func (w stageWorld) phase(name string, want corev1.PodPhase) *corev1.Pod {
	w.t.Helper()
	pod := w.pod(name)
	if pod.Status.Phase != want {
		w.t.Errorf("pod %s is %s at %v, want %s", name, pod.Status.Phase, w.Clock().Now(), want)
	}
	return pod
}

func (w stageWorld) gone(name string) bool {
	_, err := w.Client().CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func (w stageWorld) stages() dynamic.ResourceInterface {
	w.t.Helper()
	client, err := dynamic.NewForConfig(w.Config())
	w.must(err)
	return client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: stages.Resource})
}

// apply creates a Stage.
func (w stageWorld) apply(m kwok.Manifest) {
	w.t.Helper()
	var o unstructured.Unstructured
	w.must(json.Unmarshal(m.JSON, &o.Object))
	_, err := w.stages().Create(w.t.Context(), &o, metav1.CreateOptions{})
	w.must(err)
}

// events returns the reasons of the events about an object.
func (w stageWorld) events(kind, name string) []string {
	w.t.Helper()
	all, err := w.Client().CoreV1().Events("").List(w.t.Context(), metav1.ListOptions{})
	w.must(err)
	var reasons []string
	for _, e := range all.Items {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
			reasons = append(reasons, e.Reason+": "+e.Message)
		}
	}
	return reasons
}

// TestStagesReplaceTheLifeOfPods takes pods through Stages for their whole life, and hands them
// back to the kubelets when the Stages are deleted.
func TestStagesReplaceTheLifeOfPods(t *testing.T) {
	t.Parallel()
	w := newStageWorld(t, "pods")
	w.run("web", nil)
	w.run("slow", func(pod *corev1.Pod) { pod.Annotations = map[string]string{"begin/delay": "1m"} })
	w.run("job", func(pod *corev1.Pod) {
		pod.Finalizers = []string{"test.example/mine"}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "none", UID: "1"}}
	})
	w.pass(1900 * time.Millisecond)
	w.phase("web", corev1.PodPending)
	w.pass(200 * time.Millisecond)
	web := w.phase("web", corev1.PodRunning)
	w.phase("slow", corev1.PodPending)
	if !strings.HasPrefix(web.Status.PodIP, "10.244.0.") || web.Status.PodIP == w.pod("job").Status.PodIP || !web.Status.ContainerStatuses[0].Ready {
		t.Errorf("the status is %+v", web.Status)
	}
	if !slices.Contains(web.Finalizers, "test.example/held") {
		t.Errorf("the finalizers are %v", web.Finalizers)
	}
	if got := w.events("Pod", "web"); !slices.Contains(got, "Begun: The pod begins") {
		t.Errorf("the events are %v", got)
	}
	w.pass(58 * time.Second)
	w.phase("slow", corev1.PodRunning)
	w.phase("web", corev1.PodRunning)

	w.must(w.Client().CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	w.pass(2900 * time.Millisecond)
	w.phase("web", corev1.PodRunning)
	w.pass(200 * time.Millisecond)
	if !w.gone("web") {
		t.Errorf("the deleted pod is %+v", w.pod("web").ObjectMeta)
	}

	w.must(w.stages().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.pass(time.Second)
	slow := w.phase("slow", corev1.PodRunning)
	_, err := w.Client().CoreV1().Pods("default").Patch(t.Context(), "slow", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
	w.must(err)
	w.must(w.Client().CoreV1().Pods("default").Delete(t.Context(), slow.Name, metav1.DeleteOptions{}))
	w.pass(time.Minute)
	if !w.gone("slow") {
		t.Error("the kubelet has not taken back a pod of Stages")
	}
}

// TestStagesCompleteJobs checks a Stage that only matches the pods of Jobs.
func TestStagesCompleteJobs(t *testing.T) {
	t.Parallel()
	w := newStageWorld(t, "pods")
	newJob := jobWorld{w.Cluster, t}
	newJob.create("once", indexedJob(1, 1))
	w.pass(11 * time.Second)
	if active := newJob.get("once").Status.Active; active != 1 {
		t.Errorf("%d pods are active before the Stage's time", active)
	}
	w.pass(5 * time.Second)
	if status := newJob.get("once").Status; status.Succeeded != 1 {
		t.Errorf("the Job's status is %+v", status)
	}
}

// TestStagesOnTopOfTheSimulation checks Stages that change pods which the kubelets have started.
func TestStagesOnTopOfTheSimulation(t *testing.T) {
	t.Parallel()
	outcomes := func() (failed []string) {
		w := newStageWorld(t, "chaos")
		for i := range 20 {
			w.run(fmt.Sprintf("p%02d", i), func(pod *corev1.Pod) { pod.Labels = map[string]string{"chaos": "true"} })
		}
		w.run("other", nil)
		w.run("sure", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"chaos": "true"}
			pod.Annotations = map[string]string{"fail/weight": "1000000000"}
		})
		w.pass(5 * time.Second)
		w.phase("sure", corev1.PodRunning)
		w.pass(25 * time.Second)
		if sure := w.phase("sure", corev1.PodFailed); sure.Status.Reason != "Chaos" || len(sure.Status.ContainerStatuses) != 1 {
			t.Errorf("the failed pod is %+v", sure.Status)
		}
		if got := w.events("Pod", "sure"); !slices.Contains(got, "Broken: A Stage broke it") {
			t.Errorf("the events are %v", got)
		}
		w.phase("other", corev1.PodRunning)
		w.pass(10 * time.Minute)
		for i := range 20 {
			pod := w.pod(fmt.Sprintf("p%02d", i))
			switch {
			case pod.Status.Phase == corev1.PodFailed:
				failed = append(failed, pod.Name)
			case pod.Labels["chaos"] != "survived" || pod.Status.Phase != corev1.PodRunning:
				t.Errorf("pod %s: %v, %s", pod.Name, pod.Labels, pod.Status.Phase)
			}
		}
		// No Stage matches a terminating pod: its kubelet deletes it.
		w.must(w.Client().CoreV1().Pods("default").Delete(t.Context(), "sure", metav1.DeleteOptions{}))
		w.pass(time.Minute)
		if !w.gone("sure") {
			t.Error("a pod that Stages had taken was not deleted")
		}
		return failed
	}
	first := outcomes()
	if len(first) < 10 || len(first) == 20 {
		t.Errorf("of 20 pods, %v failed: the weights are 3 and 1", first)
	}
	if second := outcomes(); !slices.Equal(first, second) {
		t.Errorf("the same seed failed %v and then %v", first, second)
	}
}

// TestStagesOfOtherKinds checks apply, a JSON patch and CEL on ConfigMaps.
func TestStagesOfOtherKinds(t *testing.T) {
	t.Parallel()
	w := newStageWorld(t, "chaos")
	maps := w.Client().CoreV1().ConfigMaps("default")
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"copy": "me", "k": "v"}}, metav1.CreateOptions{})
	w.must(err)
	w.pass(2 * time.Second)
	for name, want := range map[string]string{"m": "done", "m-copy": "done"} {
		m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || m.Data["copy"] != want || m.Data["k"] != "v" {
			t.Errorf("ConfigMap %s: %v, %v", name, m, err)
		}
	}
}

// TestStagesOfNodes takes a Node that a client creates through Stages, and breaks one that the
// kubelets simulate.
func TestStagesOfNodes(t *testing.T) {
	t.Parallel()
	w := newStageWorld(t, "nodes")
	nodes := w.Client().CoreV1().Nodes()
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fake", Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}, metav1.CreateOptions{})
	w.must(err)
	w.pass(time.Second)
	get := func(name string) *corev1.Node {
		t.Helper()
		n, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
		w.must(err)
		return n
	}
	n := get("fake")
	if ready := readyCondition(n); ready.Status != corev1.ConditionTrue || n.Status.NodeInfo.KubeletVersion != "kwok-minikcm" || n.Status.Allocatable.Cpu().String() != "1k" {
		t.Errorf("the node's status is %+v", n.Status)
	}
	w.pass(30 * time.Second)
	if ready := readyCondition(get("fake")); ready.Reason != "Beat" {
		t.Errorf("without a heartbeat: %+v", ready)
	}
	_, err = nodes.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"broken":"true"}}}`), metav1.PatchOptions{})
	w.must(err)
	w.pass(10 * time.Minute)
	if ready := readyCondition(get("node-0")); ready.Reason != "Broken" || ready.Status != corev1.ConditionFalse {
		t.Errorf("the kubelet has overwritten a Stage: %+v", ready)
	}
	w.must(w.stages().Delete(t.Context(), "node-break", metav1.DeleteOptions{}))
	w.must(w.stages().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.pass(time.Minute)
	if ready := readyCondition(get("node-0")); ready.Status != corev1.ConditionTrue {
		t.Errorf("the kubelet has not taken its node back: %+v", ready)
	}
}

// TestInvalidStages checks that an invalid Stage is reported and has no effect on others, nor on
// the process.
func TestInvalidStages(t *testing.T) {
	t.Parallel()
	w := newStageWorld(t, "chaos")
	for name, rest := range map[string]string{
		"unknown":  `"selectors": {}`,
		"endless":  `"selector": {"matchExpressions": [{"key": "def f: f; f", "operator": "Exists"}]}`,
		"broken":   `"selector": {}, "next": {"statusTemplate": "{{ range"}`,
		"looping":  `"selector": {}, "next": {"patches": [{"template": "{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}"}]}`,
		"refused":  `"selector": {}, "next": {"patches": [{"template": "data: [1]"}]}`,
		"restless": `"selector": {}, "next": {"patches": [{"root": "metadata", "template": "annotations: {n: {{ uuidv4 | Quote }}}"}]}`,
		"absent":   `"selector": {}, "next": {"delete": true}`,
	} {
		kind := `{"apiGroup": "v1", "kind": "ConfigMap"}`
		if name == "absent" {
			kind = `{"apiGroup": "example.com/v1", "kind": "None"}`
		}
		if name == "looping" || name == "refused" || name == "restless" {
			rest = strings.Replace(rest, `"selector": {}`, `"selector": {"matchLabels": {"for": "`+name+`"}}`, 1)
		}
		w.apply(kwok.Manifest{Name: name, JSON: []byte(`{"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "` + name + `"}, "spec": {"resourceRef": ` + kind + `, ` + rest + `}}`)})
		_, err := w.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"for": name}}}, metav1.CreateOptions{})
		w.must(err)
	}
	w.pass(3 * time.Second)
	for name, want := range map[string]string{
		"unknown": "unknown field", "endless": "must not define", "broken": "parsing the template", "looping": "loops for too long",
		"refused": "playing it for ConfigMap default/refused", "restless": "matches its own result",
	} {
		if got := w.events("Stage", name); len(got) != 1 || !strings.Contains(got[0], "InvalidStage") || !strings.Contains(got[0], want) {
			t.Errorf("the events of Stage %s are %v, want %s", name, got, want)
		}
	}
	w.must(w.stages().Delete(context.WithoutCancel(t.Context()), "restless", metav1.DeleteOptions{}))
	w.run("sure", func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"chaos": "true"}
		pod.Annotations = map[string]string{"fail/weight": "1000000000"}
	})
	w.pass(time.Minute)
	w.phase("sure", corev1.PodFailed)
}
