package usage

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var usageNow = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// usedPod is a pod whose containers have been running for an hour, and ready as long.
func usedPod(name string, annotations map[string]string, containers ...corev1.Container) *corev1.Pod {
	since := metav1.NewTime(usageNow.Add(-time.Hour))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Annotations: annotations,
			Labels: map[string]string{"app": "web"}, CreationTimestamp: since,
		},
		Spec:   corev1.PodSpec{Containers: containers},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}},
	}
	for _, c := range containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		})
	}
	return pod
}

func containerWith(name string, requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func TestUsageOfContainers(t *testing.T) {
	web, log := containerWith("web", amounts("200m", "64Mi"), nil), containerWith("log", nil, nil)
	sidecar := usedPod("a", nil, web)
	sidecar.Spec.InitContainers = []corev1.Container{{Name: "mesh", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}, {Name: "init"}}
	sidecar.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", State: sidecar.Status.ContainerStatuses[0].State}}
	ended := usedPod("a", nil, web, log)
	ended.Status.ContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	young := usedPod("a", nil, web)
	young.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(usageNow.Add(-10 * time.Second))
	done := usedPod("a", nil, web)
	done.Status.Phase = corev1.PodSucceeded
	tests := []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"by requests", usedPod("a", nil, web), "web 100m 32Mi"},
		{"by nothing", usedPod("a", nil, log), "log 1m 8Mi"},
		{"as annotated", usedPod("a", map[string]string{AnnotationCPU: "300m", AnnotationMemory: "100Mi"}, web), "web 300m 100Mi"},
		{"of one container", usedPod("a", map[string]string{AnnotationCPU + ".log": "300m"}, web, log), "web 100m 32Mi, log 300m 8Mi"},
		{"since the container's start", usedPod("a", map[string]string{AnnotationCPU: "ramp 0 1 2h"}, web), "web 500m 32Mi"},
		{"what cannot be read", usedPod("a", map[string]string{AnnotationCPU: "much"}, web), "web 100m 32Mi"},
		{"throttled and limited", usedPod("a", map[string]string{AnnotationCPU: "2", AnnotationMemory: "1Gi"}, containerWith("web", nil, amounts("500m", "64Mi"))), "web 500m 64Mi"},
		{"never negative", usedPod("a", map[string]string{AnnotationCPU: "100m + ramp 0 -1 1m"}, web), "web 0 32Mi"},
		{"sidecars", sidecar, "mesh 1m 8Mi, web 100m 32Mi"},
		{"ended containers", ended, "web 100m 32Mi"},
		{"not measured yet", young, "unknown"},
		{"a pod that is done", done, "unknown"},
	}
	for _, tt := range tests {
		if got := showUsage(Model{}.Containers(tt.pod, nil, usageNow)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func showUsage(used []Container, known bool) string {
	if !known {
		return "unknown"
	}
	text := ""
	for i, c := range used {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %s %s", c.Name, c.CPU.String(), c.Memory.String())
	}
	return text
}

// TestSharedLoads: what an object carries is divided among its ready pods, so that more
// of them use less each.
func TestSharedLoads(t *testing.T) {
	selector := map[string]string{"app": "web"}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationLoad + "cpu": "900m", AnnotationLoad + "qps": "90", AnnotationLoad + "memory": "bad"}},
		Spec:       corev1.ServiceSpec{Selector: selector},
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationLoad + "cpu": "90m"}},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}
	everything := &corev1.Service{ObjectMeta: service.ObjectMeta}
	var pods []*corev1.Pod
	for i := range 3 {
		pods = append(pods, usedPod(fmt.Sprintf("web-%d", i), nil, containerWith("web", amounts("200m", "64Mi"), nil), containerWith("log", nil, nil)))
	}
	pods[1].Annotations = map[string]string{AnnotationCPU: "50m", AnnotationMetric + "qps": "5", defaultContainer: "log"}
	other := usedPod("other", nil, containerWith("web", nil, nil))
	other.Labels = nil
	unready := usedPod("unready", nil, containerWith("web", amounts("200m", "64Mi"), nil))
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	late := usedPod("late", nil, containerWith("web", amounts("200m", "64Mi"), nil))
	late.Status.Conditions[0].LastTransitionTime = metav1.NewTime(usageNow.Add(time.Second))
	all := append(pods, other, unready, late)

	shares := Model{}.Shares([]Object{service, deployment, everything}, all, usageNow)
	for pod, want := range map[*corev1.Pod]string{
		pods[0]: "web 330m 32Mi, log 1m 8Mi",
		pods[1]: "web 50m 32Mi, log 380m 8Mi",
		other:   "web 1m 8Mi",
		unready: "web 0 32Mi",
		late:    "web 0 32Mi",
	} {
		if got := showUsage(Model{}.Containers(pod, shares, usageNow)); got != want {
			t.Errorf("%s: %s, want %s", pod.Name, got, want)
		}
	}
	for pod, want := range map[*corev1.Pod]string{pods[0]: "30 true", pods[1]: "35 true", other: "0 false", unready: "0 true"} {
		value, known := Model{}.Metric(pod, "qps", shares, usageNow)
		if got := fmt.Sprintf("%s %v", value.String(), known); got != want {
			t.Errorf("qps of %s: %s, want %s", pod.Name, got, want)
		}
	}
	// A sixth ready pod lowers the usage of the others.
	more := Model{}.Shares([]Object{service}, append(all, usedPod("more", nil, containerWith("web", nil, nil))), usageNow)
	if got := showUsage(Model{}.Containers(pods[0], more, usageNow)); got != "web 225m 32Mi, log 1m 8Mi" {
		t.Errorf("with one more pod: %s", got)
	}
	if (Model{}).Shares([]Object{everything}, all, usageNow) != nil {
		t.Error("a Service without selector has pods")
	}
}

func TestExternalMetric(t *testing.T) {
	series := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "queue"}, Data: map[string]string{ExternalValue: "1500m"}}
	if value, err := (Model{}).External(series, usageNow); err != nil || value.String() != "1500m" {
		t.Errorf("%s, %v", value.String(), err)
	}
	series.Data = nil
	if _, err := (Model{}).External(series, usageNow); err == nil {
		t.Error("a series without value has one")
	}
}

func TestNodeUsage(t *testing.T) {
	cpu, memory := OfNode([][]Container{
		{{CPU: resource.MustParse("100m"), Memory: resource.MustParse("32Mi")}, {CPU: resource.MustParse("50m"), Memory: resource.MustParse("8Mi")}},
		{{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")}},
	})
	if cpu.String() != "1150m" || memory.String() != "1064Mi" {
		t.Errorf("%s, %s", cpu.String(), memory.String())
	}
}

// BenchmarkUsage: what 1,000 pods use that share a load.
func BenchmarkUsage(b *testing.B) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{AnnotationLoad + "cpu": "900m noise 5%"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
	var pods []*corev1.Pod
	for i := range 1000 {
		pods = append(pods, usedPod(fmt.Sprintf("web-%d", i), map[string]string{AnnotationMemory: "ramp 32Mi 64Mi 1h noise 5%"}, containerWith("web", amounts("200m", "64Mi"), nil)))
	}
	b.ReportAllocs()
	for b.Loop() {
		shares := Model{}.Shares([]Object{service}, pods, usageNow)
		for _, pod := range pods {
			if _, known := (Model{}).Containers(pod, shares, usageNow); !known {
				b.Fatal("unknown")
			}
		}
	}
}
