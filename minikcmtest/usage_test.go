package minikcmtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"minikcm.dev/minikcm/minikcmtest"
)

func usingPod(name string, annotations map[string]string, memory string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
		}}}},
	}
}

// The metrics API serves the usage of pods and nodes in samples of 15 s, once the first
// sample is complete.
func TestMetricsAPI(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	client, err := metricsclient.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range []*corev1.Pod{
		usingPod("web", map[string]string{"minikcm.dev/cpu": "250m", "minikcm.dev/memory": "100Mi"}, "1Gi"),
		usingPod("db", map[string]string{"minikcm.dev/cpu": "ramp 0 1 10m"}, "64Mi"),
	} {
		if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.MetricsV1beta1().PodMetricses("default").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("before the first sample: %v", err)
	}
	if err := c.Advance(t.Context(), 5*time.Minute+7*time.Second); err != nil {
		t.Fatal(err)
	}
	pods, err := client.MetricsV1beta1().PodMetricses("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range pods.Items {
		usage := m.Containers[0].Usage
		got = append(got, fmt.Sprintf("%s %s %s %s %s", m.Name, usage.Cpu(), usage.Memory(), m.Window.Duration, m.Timestamp.UTC().Format(time.TimeOnly)))
	}
	if diff := cmp.Diff([]string{"db 500m 32Mi 15s 00:05:00", "web 250m 100Mi 15s 00:05:00"}, got); diff != "" {
		t.Error(diff)
	}
	selected, err := client.MetricsV1beta1().PodMetricses("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(selected.Items) != 1 || selected.Items[0].Labels["app"] != "web" {
		t.Errorf("selected: %v, %v", selected, err)
	}
	node, err := client.MetricsV1beta1().NodeMetricses().Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil || node.Usage.Cpu().String() != "750m" || node.Usage.Memory().String() != "132Mi" {
		t.Errorf("the node: %v, %v", node, err)
	}
	// A stopped node has no metrics.
	if err := c.Kubelets().StopNode("node-0"); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	nodes, err := client.MetricsV1beta1().NodeMetricses().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 0 {
		t.Errorf("of a silent node: %v, %v", nodes, err)
	}
}

// A container that exceeds its memory limit is killed and restarted.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	leak := usingPod("leak", map[string]string{"minikcm.dev/memory": "ramp 32Mi 96Mi 10m"}, "64Mi")
	if _, err := c.Client().CoreV1().Pods("default").Create(t.Context(), leak, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	restarts := func(after time.Duration) corev1.ContainerStatus {
		t.Helper()
		if err := c.Advance(t.Context(), after); err != nil {
			t.Fatal(err)
		}
		pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "leak", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod.Status.ContainerStatuses[0]
	}
	if s := restarts(5 * time.Minute); s.RestartCount != 0 || s.State.Running == nil {
		t.Errorf("after five minutes: %+v", s)
	}
	s := restarts(time.Minute)
	if s.RestartCount != 1 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.Reason != "OOMKilled" || s.LastTerminationState.Terminated.ExitCode != 137 {
		t.Errorf("after six minutes: %+v", s)
	}
	if s := restarts(5 * time.Minute); s.RestartCount != 2 {
		t.Errorf("after eleven minutes: %+v", s)
	}
}
