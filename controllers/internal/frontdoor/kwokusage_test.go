package controllers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/minikcmtest"
)

// newUsageWorld starts a cluster with one node of 1Gi and the objects in files of
// internal/kwok/testdata.
func newUsageWorld(t *testing.T, files ...string) stageWorld {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Stages.Watch, o.Seed, o.Nodes.Count = true, 7, 1
		o.Nodes.Spec = minikcm.NodeSpec{Capacity: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
		for _, file := range files {
			data, err := os.ReadFile("../../../internal/kwok/testdata/" + file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			all, err := minikcm.ParseStages(data)
			if err != nil {
				t.Fatal(err)
			}
			o.Nodes.Stages.Manifests = append(o.Nodes.Stages.Manifests, all...)
		}
	}))
	return stageWorld{c, t}
}

// get returns the answer of the API server at a path.
func (w stageWorld) get(path string) string {
	w.t.Helper()
	data, err := w.Client().CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json, */*").DoRaw(w.t.Context())
	w.must(err)
	return string(data)
}

// used returns a pod's usage from the metrics API.
func (w stageWorld) used(name string) string {
	w.t.Helper()
	var metrics metricsv1beta1.PodMetrics
	w.must(json.Unmarshal([]byte(w.get("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/"+name)), &metrics))
	var all []string
	for _, c := range metrics.Containers {
		all = append(all, fmt.Sprintf("%s %s %s", c.Name, c.Usage.Cpu(), c.Usage.Memory()))
	}
	return strings.Join(all, ", ")
}

func (w stageWorld) kwok(kind string) dynamic.ResourceInterface {
	w.t.Helper()
	client, err := dynamic.NewForConfig(w.Config())
	w.must(err)
	name, namespaced := kwok.ResourceOf(kind)
	of := client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: name})
	if namespaced {
		return of.Namespace("default")
	}
	return of
}

// declare creates an object of one of kwok's kinds.
func (w stageWorld) declare(kind, name, spec string) {
	w.t.Helper()
	var content map[string]any
	w.must(json.Unmarshal([]byte(spec), &content))
	_, err := w.kwok(kind).Create(w.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": stages.Group + "/" + stages.Version, "kind": kind, "metadata": map[string]any{"name": name}, "spec": content,
	}}, metav1.CreateOptions{})
	w.must(err)
}

func (w stageWorld) annotate(pod, key, value string) {
	w.t.Helper()
	_, err := w.Client().CoreV1().Pods("default").Patch(w.t.Context(), pod, "application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, key, value), metav1.PatchOptions{})
	w.must(err)
}

// TestUsagesOfKwok has usages that show in all APIs of what pods use, and follow the objects.
func TestUsagesOfKwok(t *testing.T) {
	t.Parallel()
	w := newUsageWorld(t, "usages", "metrics")
	w.run("a", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"load/cpu": "400m", "load/memory": "96Mi"}
	})
	w.run("own", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"load/cpu": "400m", "minikcm.dev/cpu": "50m"}
	})
	w.pass(31 * time.Second)
	if got, own := w.used("a"), w.used("own"); got != "c 400m 96Mi" || own != "c 50m 3Mi" {
		t.Errorf("the pods use %s and %s", got, own)
	}
	const kubelet = "/api/v1/nodes/node-0/proxy"
	for path, wants := range map[string][]string{
		"/apis/metrics.k8s.io/v1beta1/nodes/node-0": {`"cpu":"450m"`, `"memory":"99Mi"`},
		kubelet + "/stats/summary":                  {`"usageNanoCores":400000000`, `"workingSetBytes":100663296`},
		kubelet + "/metrics/resource":               {`pod_memory_working_set_bytes{namespace="default",pod="a"} 1.00663296e+08`},
		kubelet + "/metrics/nodes/node-0/all": {
			`node_pods_started_total 2`, `used_cpu{container="c",pod="a"} 0.4`, `used_cpu_seconds{pod="default/a"} 12`, `start_seconds_bucket{le="10"} 7`,
		},
	} {
		for _, want := range wants {
			if got := w.get(path); !strings.Contains(got, want) {
				t.Errorf("%s has no %s:\n%s", path, want, got)
			}
		}
	}
	w.pass(time.Second)
	if failed := strings.Join(w.events("Metric", "all-kinds"), "\n"); !strings.Contains(failed, "InvalidMetric: the metric fails_for_some") {
		t.Errorf("the events of the Metric are %q", failed)
	}
	if _, err := w.Client().CoreV1().RESTClient().Get().AbsPath(kubelet + "/metrics/nodes/other/all").DoRaw(t.Context()); err == nil {
		t.Error("a node that does not exist has metrics")
	}
	w.annotate("a", "load/cpu", "600m")
	w.pass(15 * time.Second)
	if got := w.used("a"); got != "c 600m 96Mi" {
		t.Errorf("the annotated pod uses %s", got)
	}
	w.must(w.kwok(kwok.KindClusterResourceUsage).Delete(t.Context(), "as-annotated", metav1.DeleteOptions{}))
	w.pass(15 * time.Second)
	if got := w.used("a"); got != "c 1m 8Mi" {
		t.Errorf("without a usage, the pod uses %s", got)
	}
}

// TestUsagesOfKwokWhileRunning installs the definitions and objects in a running cluster, and takes
// them away.
func TestUsagesOfKwokWhileRunning(t *testing.T) {
	t.Parallel()
	w := newUsageWorld(t)
	w.run("a", nil)
	definitions, err := kwok.Definitions([]kwok.Manifest{{Kind: kwok.KindResourceUsage}, {Kind: kwok.KindClusterResourceUsage}})
	w.must(err)
	client, err := dynamic.NewForConfig(w.Config())
	w.must(err)
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, definition := range definitions {
		_, err := crds.Create(t.Context(), &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{})
		w.must(err)
	}
	w.pass(30 * time.Second)
	w.declare(kwok.KindResourceUsage, "a", `{"usages": [{"usage": {"cpu": {"value": "250m"}}}]}`)
	w.declare(kwok.KindClusterResourceUsage, "wrong", `{"usages": [{"usage": {"cpu": {"expression": "pod.specification.size()"}}}]}`)
	w.declare(kwok.KindClusterResourceUsage, "failing", `{"usages": [{"usage": {"cpu": {"expression": "Quantity(pod.metadata.labels['load'])"}}}]}`)
	w.run("b", nil)
	w.pass(30 * time.Second)
	if a, b := w.used("a"), w.used("b"); a != "c 250m 8Mi" || b != "c 1m 8Mi" {
		t.Errorf("the pods use %s and %s", a, b)
	}
	w.pass(time.Second)
	for name, want := range map[string]string{"wrong": "undefined field 'specification'", "failing": "no such key: load"} {
		if all := strings.Join(w.events(kwok.KindClusterResourceUsage, name), "\n"); !strings.Contains(all, "InvalidClusterResourceUsage: ") || !strings.Contains(all, want) {
			t.Errorf("the events of %s are %q", name, all)
		}
	}
	w.must(crds.Delete(t.Context(), "resourceusages.kwok.x-k8s.io", metav1.DeleteOptions{}))
	w.pass(30 * time.Second)
	if a := w.used("a"); a != "c 1m 8Mi" {
		t.Errorf("without the definition, the pod uses %s", a)
	}
}

// TestGrowingUsageOfKwokEvicts has a usage that grows until its node runs short of memory.
func TestGrowingUsageOfKwokEvicts(t *testing.T) {
	t.Parallel()
	w := newUsageWorld(t, "usages")
	w.run("web", nil)
	w.run("leak", nil)
	w.declare(kwok.KindClusterResourceUsage, "a-leak", `{"selector": {"matchNames": ["leak"]}, "usages": [{"usage": {"memory": {"expression": "Quantity('1Mi') * pod.SinceSecond()"}}}]}`)
	w.pass(15 * time.Minute)
	w.phase("leak", corev1.PodRunning)
	// 1,024 s less the threshold of 100 and the 3 of the other pod, until the next look, and then
	// until the pod has ended.
	w.pass(45 * time.Second)
	leak := w.phase("leak", corev1.PodFailed)
	if leak.Status.Reason != "Evicted" || !strings.Contains(leak.Status.Message, "The node was low on resource: memory. Threshold quantity: 100Mi") {
		t.Errorf("the pod failed because of %s: %s", leak.Status.Reason, leak.Status.Message)
	}
	w.phase("web", corev1.PodRunning)
}

// TestAutoscalerFollowsUsageOfKwok scales by usages that annotations state.
func TestAutoscalerFollowsUsageOfKwok(t *testing.T) {
	t.Parallel()
	w := newUsageWorld(t, "usages")
	half := int32(50)
	deployment := deploymentOf("web", 1)
	deployment.Spec.Template.Annotations = map[string]string{"load/cpu": "400m"}
	deployment.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	_, err := w.Client().AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{})
	w.must(err)
	_, err = w.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &half},
			}}},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	w.pass(5 * time.Minute)
	scaled, err := w.Client().AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	w.must(err)
	if n := *scaled.Spec.Replicas; n != 3 {
		t.Errorf("the Deployment has %d replicas, want 3", n)
	}
}
