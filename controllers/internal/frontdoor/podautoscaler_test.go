package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

var autoscaledWeb = map[string]string{"app": "web"}

// autoscaledCluster is a cluster on virtual time with a Deployment of one pod that requests 200m, and
// its Service, which receives the load.
type autoscaledCluster struct {
	*minikcmtest.Cluster
	t *testing.T
}

func newAutoscaled(t *testing.T, load map[string]string) *autoscaledCluster {
	t.Helper()
	c := &autoscaledCluster{minikcmtest.New(t, minikcmtest.WithNodes(2), minikcmtest.WithVirtualTime()), t}
	_, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: autoscaledWeb},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: autoscaledWeb}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "web", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}},
			}}}},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	_, err = c.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: load}, Spec: corev1.ServiceSpec{Selector: autoscaledWeb, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	c.must(err)
	return c
}

func (c *autoscaledCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// autoscale creates an autoscaler of the Deployment.
func (c *autoscaledCluster) autoscale(name string, most int32, metrics ...autoscalingv2.MetricSpec) {
	c.t.Helper()
	_, err := c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(c.t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    most, Metrics: metrics,
		},
	}, metav1.CreateOptions{})
	c.must(err)
}

func (c *autoscaledCluster) pass(d time.Duration) {
	c.t.Helper()
	c.must(c.Advance(c.t.Context(), d))
}

func (c *autoscaledCluster) replicas() int32 {
	c.t.Helper()
	d, err := c.Client().AppsV1().Deployments("default").Get(c.t.Context(), "web", metav1.GetOptions{})
	c.must(err)
	return *d.Spec.Replicas
}

func (c *autoscaledCluster) autoscaler(name string) *autoscalingv2.HorizontalPodAutoscaler {
	c.t.Helper()
	a, err := c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Get(c.t.Context(), name, metav1.GetOptions{})
	c.must(err)
	return a
}

func cpuAt(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
	}}
}

// TestReplicasFollowTheLoad raises the load to twenty times the target of a pod, and lowers
// it again. The sizes, and the times at which they are written, are the same in every run.
func TestReplicasFollowTheLoad(t *testing.T) {
	t.Parallel()
	c := newAutoscaled(t, map[string]string{"minikcm.dev/load-cpu": "steps 100m 2m 2 6m 300m"})
	c.autoscale("web", 30, cpuAt(50))
	var sizes []string
	last := int32(0)
	for range 4 * 21 {
		if now := c.replicas(); now != last {
			sizes = append(sizes, fmt.Sprintf("%v: %d", c.Clock().Since(autoscalerStart), now))
			last = now
		}
		c.pass(15 * time.Second)
	}
	want := []string{"0s: 1", "2m0s: 4", "2m15s: 8", "2m30s: 16", "2m45s: 20", "13m0s: 3"}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Error(diff)
	}
	a := c.autoscaler("web")
	if used := a.Status.CurrentMetrics[0].Resource.Current; *used.AverageUtilization != 50 {
		t.Errorf("in the end the pods use %d%%", *used.AverageUtilization)
	}
	var events []string
	for _, e := range c.eventsOf("web") {
		events = append(events, e.Reason+": "+e.Message)
	}
	for _, size := range []string{"4", "8", "16", "20"} {
		if !slices.Contains(events, "SuccessfulRescale: New size: "+size+"; reason: cpu resource utilization (percentage of request) above target") {
			t.Errorf("no event reports size %s: %q", size, events)
		}
	}
	if !slices.Contains(events, "SuccessfulRescale: New size: 3; reason: All metrics below target") {
		t.Errorf("no event reports the end: %q", events)
	}
}

var autoscalerStart = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

func (c *autoscaledCluster) eventsOf(name string) []corev1.Event {
	c.t.Helper()
	list, err := c.Client().CoreV1().Events("default").List(c.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name=" + name})
	c.must(err)
	return list.Items
}

// TestEveryKindOfMetric checks that each kind of metric is read through the API and scales
// the target.
func TestEveryKindOfMetric(t *testing.T) {
	t.Parallel()
	quantity := ptr.To(resource.MustParse("100"))
	service := autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "web"}
	tests := []struct {
		name   string
		metric autoscalingv2.MetricSpec
		want   int32
	}{
		{"container", autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceCPU, Container: "web", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)},
		}}, 2},
		{"value", autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("100m"))},
		}}, 2},
		{"pods", autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "requests"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity},
		}}, 3},
		{"object", autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: service, Metric: autoscalingv2.MetricIdentifier{Name: "hits"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity},
		}}, 4},
		{"namespace", autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Namespace", Name: "default"},
			Metric:          autoscalingv2.MetricIdentifier{Name: "users"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity},
		}}, 3},
		{"external", autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": "web"}}},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity},
		}}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newAutoscaled(t, map[string]string{"minikcm.dev/load-cpu": "200m", "minikcm.dev/load-requests": "300", "minikcm.dev/metric-hits": "400"})
			_, err := c.Client().CoreV1().Namespaces().Patch(t.Context(), "default", types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"minikcm.dev/metric-users":"250"}}}`), metav1.PatchOptions{})
			c.must(err)
			for name, of := range map[string]string{"a": "web", "b": "web", "c": "other"} {
				_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"minikcm.dev/external-metric": "queue", "of": of}},
					Data:       map[string]string{"value": "200"},
				}, metav1.CreateOptions{})
				c.must(err)
			}
			c.autoscale("web", 10, tt.metric)
			c.pass(3 * time.Minute)
			if got := c.replicas(); got != tt.want {
				t.Errorf("there are %d replicas, want %d: %+v", got, tt.want, c.autoscaler("web").Status.Conditions)
			}
		})
	}
}

// TestImpossibleAutoscalers checks the conditions of autoscalers that cannot work.
func TestImpossibleAutoscalers(t *testing.T) {
	t.Parallel()
	c := newAutoscaled(t, nil)
	c.autoscale("web", 10, autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "nope"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("1"))},
	}})
	other := c.autoscaler("web").DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Name: "nothing"}
	other.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "example.com/v1", Kind: "Nothing", Name: "nothing"}
	_, err := c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), other, metav1.CreateOptions{})
	c.must(err)
	c.pass(time.Minute)
	c.reports("web", autoscalingv2.ScalingActive, "FailedGetPodsMetric: the HPA was unable to compute the replica count: unable to get metric nope: "+
		"unable to fetch metrics from custom metrics API: the server could not find the metric nope for pods")
	c.reports("nothing", autoscalingv2.AbleToScale, `FailedGetScale: the HPA controller was unable to get the target's current scale: no matches for kind "Nothing" in group "example.com"`)
	c.autoscale("second", 10, cpuAt(50))
	c.pass(time.Minute)
	c.reports("second", autoscalingv2.ScalingActive, "AmbiguousSelector: pods by selector app=web are controlled by more than one HPA (e.g. [{second default} {web default}])")
	if got := c.replicas(); got != 1 {
		t.Errorf("there are %d replicas", got)
	}
}

func (c *autoscaledCluster) reports(name string, kind autoscalingv2.HorizontalPodAutoscalerConditionType, want string) {
	c.t.Helper()
	conditions := c.autoscaler(name).Status.Conditions
	i := slices.IndexFunc(conditions, func(o autoscalingv2.HorizontalPodAutoscalerCondition) bool { return o.Type == kind })
	if i < 0 || conditions[i].Status != corev1.ConditionFalse || conditions[i].Reason+": "+conditions[i].Message != want {
		c.t.Errorf("%s: want %s %s, conditions are %+v", name, kind, want, conditions)
	}
}

// TestTargetsOfOtherKinds checks that a StatefulSet is scaled like a Deployment, by its
// scale subresource.
func TestTargetsOfOtherKinds(t *testing.T) {
	t.Parallel()
	c := &autoscaledCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime()), t}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: autoscaledWeb}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "web", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
	}}}}
	_, err := c.Client().AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"minikcm.dev/load-cpu": "400m"}},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: autoscaledWeb}, Template: template},
	}, metav1.CreateOptions{})
	c.must(err)
	_, err = c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"},
			MaxReplicas:    10, Metrics: []autoscalingv2.MetricSpec{cpuAt(50)},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	c.Eventually("the StatefulSet to have 8 pods", func(ctx context.Context, client kubernetes.Interface) error {
		set, err := client.AppsV1().StatefulSets("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && *set.Spec.Replicas != 8 {
			err = fmt.Errorf("it has %d", *set.Spec.Replicas)
		}
		return err
	})
	if text := fmt.Sprint(c.autoscaler("web").Status.Conditions); !strings.Contains(text, "SucceededRescale") && !strings.Contains(text, "ReadyForNewScale") {
		t.Error(text)
	}
}

// TestCustomTargets checks that an object of a kind that is defined while the controller
// runs is scaled, if the kind has a scale subresource.
func TestCustomTargets(t *testing.T) {
	t.Parallel()
	c := &autoscaledCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime()), t}
	client, err := dynamic.NewForConfig(c.Config())
	c.must(err)
	// Make the controller cache discovery before the kind exists.
	c.autoscale("web", 5, cpuAt(50))
	c.pass(time.Minute)
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "farms.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "farms", "singular": "farm", "kind": "Farm", "listKind": "FarmList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				"subresources": map[string]any{"scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector"}},
			}},
		},
	}
	farm := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Farm", "metadata": map[string]any{"name": "web", "annotations": map[string]any{"minikcm.dev/metric-hay": "700"}},
		"spec": map[string]any{"size": int64(2)}, "status": map[string]any{"size": int64(2), "selector": "app=web"},
	}
	farms := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "farms"}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err = client.Resource(definitions).Create(t.Context(), &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{})
	c.must(err)
	_, err = client.Resource(farms).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: farm}, metav1.CreateOptions{})
	c.must(err)
	ref := autoscalingv2.CrossVersionObjectReference{APIVersion: "example.com/v1", Kind: "Farm", Name: "web"}
	_, err = c.Client().AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "farm"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: ref, MaxReplicas: 10, Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: ref, Metric: autoscalingv2.MetricIdentifier{Name: "hay"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("100"))},
			},
		}}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.pass(2 * time.Minute)
	got, err := client.Resource(farms).Namespace("default").Get(t.Context(), "web", metav1.GetOptions{})
	c.must(err)
	// No controller updates status.size: it still is 2 after the first step.
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 7 {
		t.Errorf("the farm's size is %d, want 7: %+v", size, c.autoscaler("farm").Status.Conditions)
	}
}
