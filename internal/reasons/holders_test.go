package reasons_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/reasons"
)

// podOn returns a pod that requests CPU on a node.
func podOn(node, namespace, name, cpu string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return pod
}

func controlledBy(kind, name string) *metav1.OwnerReference {
	return &metav1.OwnerReference{Kind: kind, Name: name, UID: types.UID(kind + name), Controller: new(true)}
}

func untyped(t *testing.T, kind schema.GroupVersionKind, obj runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(kind)
	return o
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// A pod without room names the largest holders of the resource on the nodes that lack it, by their
// outermost controllers.
func TestHolders(t *testing.T) {
	t.Parallel()
	index := reasons.NewIndex()
	for name, cpu := range map[string]string{"full": "4", "also-full": "4", "free": "16"} {
		index.Add(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		})
	}
	index.AddOwner(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "ReplicaSetweb-1", OwnerReferences: []metav1.OwnerReference{*controlledBy("Deployment", "web")}}})
	over := podOn("full", "shop", "over", "4", nil)
	over.Status.Phase = corev1.PodSucceeded
	for _, pod := range []*corev1.Pod{
		podOn("full", "shop", "web-1-a", "1500m", controlledBy("ReplicaSet", "web-1")), podOn("also-full", "shop", "web-1-b", "1500m", controlledBy("ReplicaSet", "web-1")),
		podOn("full", "batch", "import-1", "1", controlledBy("Job", "import")), podOn("also-full", "shop", "alone", "2", nil),
		podOn("full", "shop", "a", "100m", nil), podOn("full", "shop", "b", "200m", nil),
		podOn("free", "shop", "elsewhere", "9", nil), over,
	} {
		index.AddPod(pod)
	}
	waiting := podOn("", "shop", "big", "2", nil)
	waiting.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.",
	}}
	got := printed(reasons.Of(index.Subject(untyped(t, podKind, waiting))))
	want := "it requests 2 of cpu, and 2 nodes have too little left: of 8, deployment/web holds 3 in 2 pods, pod/alone holds 2, job/import in batch holds 1, others 300m"
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Control names the controllers that decide how many pods there are.
func TestControl(t *testing.T) {
	t.Parallel()
	replicas := int32(7)
	index := reasons.NewIndex()
	meta := func(name, kind string, owner *metav1.OwnerReference) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(kind + name)}
		if owner != nil {
			m.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		return m
	}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	for _, name := range []string{"web", "api"} {
		index.Add(apps.WithKind("Deployment"), &appsv1.Deployment{ObjectMeta: meta(name, "Deployment", nil), Spec: appsv1.DeploymentSpec{Replicas: &replicas}})
		index.Add(apps.WithKind("ReplicaSet"), &appsv1.ReplicaSet{ObjectMeta: meta(name+"-1", "ReplicaSet", controlledBy("Deployment", name)), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}})
	}
	index.Add(apps.WithKind("DaemonSet"), &appsv1.DaemonSet{ObjectMeta: meta("agent", "DaemonSet", nil), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 4}})
	index.Add(schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: meta("web", "HorizontalPodAutoscaler", nil),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, MaxReplicas: 9,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
			}}},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 7, CurrentMetrics: []autoscalingv2.MetricStatus{{
			Type:     autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: new(int32(83))}},
		}}},
	})
	for owner, want := range map[string]string{
		"ReplicaSet web-1": "horizontalpodautoscaler/web sets the replicas of deployment/web: it wants 7, of 1 to 9, cpu is at 83 % with a target of 50 %",
		"ReplicaSet api-1": "deployment/api has 7 replicas by its spec.replicas",
		"DaemonSet agent":  "daemonset/agent has a pod on each of 4 nodes",
		"":                 "",
	} {
		var by *metav1.OwnerReference
		if kind, name, ok := strings.Cut(owner, " "); ok {
			by = controlledBy(kind, name)
		}
		if got := index.Control(untyped(t, podKind, podOn("node-0", "shop", "p", "1", by))); got != want {
			t.Errorf("pods of %q: got %q, want %q", owner, got, want)
		}
	}
}

// Refused requests explain an object that is not as expected, and the refused requests of a node
// explain its pods.
func TestRefusals(t *testing.T) {
	t.Parallel()
	index := reasons.NewIndex()
	nodeKind := schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "n"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status."}}
	index.Add(nodeKind, node)
	index.AddRefusal(reasons.About{Kind: "Node", Name: "node-1"}, reasons.Refusal{
		What: "heartbeats of node-1", Count: 345, Message: "failed calling webhook",
		By: reasons.Refuser{Kind: reasons.ByWebhook, Name: "validating-webhook.openpolicyagent.org", Of: "opa"},
	})
	pod := podOn("node-1", "shop", "web", "1", nil)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	for _, o := range []*unstructured.Unstructured{untyped(t, nodeKind, node), untyped(t, podKind, pod)} {
		got := printed(reasons.Of(index.Subject(o)))
		if want := "345 heartbeats of node-1 were refused by webhook opa (validating-webhook.openpolicyagent.org)"; !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", o.GetKind(), got, want)
		}
	}
}
