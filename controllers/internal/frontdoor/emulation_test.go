package controllers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/releases"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestEveryReleaseRunsPods runs a Deployment on each release that can be emulated: the parts of the cluster
// do not need more than the release has, and come to rest.
func TestEveryReleaseRunsPods(t *testing.T) {
	t.Parallel()
	for _, release := range releases.All() {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithVersion(release.String()), minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2))
			info, err := c.Client().Discovery().ServerVersion()
			if err != nil || info.GitVersion != release.Version() || info.Major != "1" || "1."+info.Minor != release.String() {
				t.Errorf("the version is %+v, %v", info, err)
			}
			labels := map[string]string{"app": "web"}
			if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec: appsv1.DeploymentSpec{
					Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}},
				},
			}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := c.Advance(t.Context(), 2*time.Minute); err != nil {
				t.Fatal(err)
			}
			d, err := c.Client().AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil || d.Status.AvailableReplicas != 2 {
				t.Fatalf("%d pods are available, %v", d.Status.AvailableReplicas, err)
			}
			before := revisionOfPods(t, c)
			if err := c.Advance(t.Context(), 10*time.Minute); err != nil {
				t.Fatal(err)
			}
			if after := revisionOfPods(t, c); after != before {
				t.Errorf("pods are written while nothing happens: %s, then %s", before, after)
			}
			pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if observed := pods.Items[0].Status.ObservedGeneration != 0; observed != (release >= 34) {
				t.Errorf("the status of a pod has an observedGeneration: %v", observed)
			}
			nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if err != nil || nodes.Items[0].Status.NodeInfo.KubeletVersion != release.Version() {
				t.Errorf("the kubelets are of %s, %v", nodes.Items[0].Status.NodeInfo.KubeletVersion, err)
			}
		})
	}
}

// revisionOfPods returns the newest resourceVersion of the pods.
func revisionOfPods(t *testing.T, c *minikcmtest.Cluster) string {
	t.Helper()
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	for _, pod := range pods.Items {
		if len(pod.ResourceVersion) > len(newest) || len(pod.ResourceVersion) == len(newest) && pod.ResourceVersion > newest {
			newest = pod.ResourceVersion
		}
	}
	return newest
}

// strictPod creates a pod from JSON, with unknown fields refused.
func strictPod(t *testing.T, client kubernetes.Interface, name, spec string) (*corev1.Pod, error) {
	t.Helper()
	pod := &corev1.Pod{}
	err := client.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/json").
		Body([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":` + spec + `}`)).Do(t.Context()).Into(pod)
	return pod, err
}

// TestReleasesFields checks that fields that a release does not have are unknown, that fields of features
// that are off are dropped, and that gates change that.
func TestReleasesFields(t *testing.T) {
	t.Parallel()
	const spec = `{"containers":[{"name":"a","image":"nginx","lifecycle":{"stopSignal":"SIGUSR1"}}],"resources":{"requests":{"cpu":"1"}},"hostUsers":false,"os":{"name":"linux"}}`
	for _, test := range []struct {
		name    string
		options []minikcmtest.Option
		unknown string
		// kept are whether the pod has its stopSignal, resources and hostUsers.
		kept [3]bool
	}{
		{"1.31", []minikcmtest.Option{minikcmtest.WithVersion("1.31")}, `unknown field "spec.containers[0].lifecycle.stopSignal", unknown field "spec.resources"`, [3]bool{}},
		{"1.33", []minikcmtest.Option{minikcmtest.WithVersion("1.33")}, "", [3]bool{false, false, true}},
		{"1.33 with gates", []minikcmtest.Option{
			minikcmtest.WithVersion("1.33"), minikcmtest.WithFeatureGate("ContainerStopSignals", true), minikcmtest.WithFeatureGate("PodLevelResources", true), minikcmtest.WithFeatureGate("UserNamespacesSupport", false),
		}, "", [3]bool{true, true, false}},
		{"the newest", nil, "", [3]bool{false, true, true}},
		{"the newest with a gate", []minikcmtest.Option{minikcmtest.WithFeatureGate("ContainerStopSignals", true)}, "", [3]bool{true, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, append(test.options, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))...)
			pod, err := strictPod(t, c.Client(), "a", spec)
			if test.unknown != "" {
				if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.unknown) {
					t.Fatalf("got %v, want %s", err, test.unknown)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			kept := [3]bool{pod.Spec.Containers[0].Lifecycle != nil && pod.Spec.Containers[0].Lifecycle.StopSignal != nil, pod.Spec.Resources != nil, pod.Spec.HostUsers != nil}
			if kept != test.kept {
				t.Errorf("stopSignal, resources and hostUsers are kept: %v, want %v", kept, test.kept)
			}
		})
	}
}

// TestReleasesAPIs checks that clients do not find APIs that a release does not have, that versions that
// are off by default can be served, and that OpenAPI documents describe the release.
func TestReleasesAPIs(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVersion("1.32"), minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1),
		minikcmtest.WithRuntimeConfig("resource.k8s.io/v1beta1=true", "batch/v1/cronjobs=false"), minikcmtest.WithFeatureGate("DynamicResourceAllocation", true))
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for text, served := range map[string]bool{
		"resource.k8s.io/v1/deviceclasses": false, "resource.k8s.io/v1beta1/deviceclasses": true, "storage.k8s.io/v1/volumeattributesclasses": false,
		"networking.k8s.io/v1/servicecidrs": false, "networking.k8s.io/v1/ingresses": true, "batch/v1/cronjobs": false, "batch/v1/jobs": true,
	} {
		parts := strings.Split(text, "/")
		_, err := client.Resource(schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}).List(t.Context(), metav1.ListOptions{})
		if found := err == nil; found != served || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
	classes := client.Resource(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1beta1", Resource: "deviceclasses"})
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", "metadata": map[string]any{"name": "gpu"},
		"spec": map[string]any{"selectors": []any{map[string]any{"cel": map[string]any{"expression": "true"}}}, "extendedResourceName": "example.com/gpu"},
	}}
	if class, err = classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := unstructured.NestedString(class.Object, "spec", "extendedResourceName"); found || class.GetAPIVersion() != "resource.k8s.io/v1beta1" {
		t.Errorf("got %v", class.Object)
	}
	if _, err := classes.Patch(t.Context(), "gpu", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}

	data, err := c.Client().Discovery().RESTClient().Get().AbsPath("/openapi/v3/api/v1").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Info       struct{ Version string }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	spec := document.Components.Schemas["io.k8s.api.core.v1.PodSpec"].Properties
	if spec["resources"] == nil || spec["hostnameOverride"] != nil || !strings.HasPrefix(strings.TrimPrefix(document.Info.Version, "v"), "1.32") {
		t.Errorf("the document of %s describes resources: %v, hostnameOverride: %v", document.Info.Version, spec["resources"] != nil, spec["hostnameOverride"] != nil)
	}
}

// TestReleasesAutoscalers checks that autoscalers of a release before 1.37 neither scale to zero nor have a
// generation.
func TestReleasesAutoscalers(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVersion("1.36"), minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr.To[int32](0), MaxReplicas: 3,
		},
	}
	all := c.Client().AutoscalingV2().HorizontalPodAutoscalers("default")
	if _, err := all.Create(t.Context(), autoscaler, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must be greater than or equal to 1") {
		t.Errorf("got %v", err)
	}
	autoscaler.Spec.MinReplicas = nil
	created, err := all.Create(t.Context(), autoscaler, metav1.CreateOptions{})
	if err != nil || created.Generation != 0 {
		t.Errorf("generation %d, %v", created.Generation, err)
	}
}
