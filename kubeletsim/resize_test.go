package kubeletsim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

func cpuPod(name, cpu string, change ...func(pod *corev1.Pod)) *corev1.Pod {
	return podNamed(name, append([]func(pod *corev1.Pod){func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}}, change...)...)
}

// resize patches what the first container requests.
func (c *streamCluster) resize(pod, patch string) error {
	c.t.Helper()
	patch = `{"spec":{"containers":[{"name":"main",` + patch + `}]}}`
	_, err := c.client.CoreV1().Pods("default").Patch(c.t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	return err
}

func requestCPU(cpu string) string { return fmt.Sprintf(`"resources":{"requests":{"cpu":%q}}`, cpu) }

// hasCPU waits until the kubelet says that the pod has so much, with so many restarts,
// and that the resize is pending or not.
func (c *streamCluster) hasCPU(pod, cpu string, restarts int32, pending string) {
	c.t.Helper()
	c.Eventually(pod+" to have "+cpu, func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		reason := ""
		for _, condition := range got.Status.Conditions {
			switch condition.Type {
			case corev1.PodResizePending:
				reason = condition.Reason + ": " + condition.Message
				if condition.ObservedGeneration != got.Generation {
					return fmt.Errorf("the condition is for generation %d of %d", condition.ObservedGeneration, got.Generation)
				}
			case corev1.PodResizeInProgress:
				return fmt.Errorf("the resize goes on: %+v", condition)
			}
		}
		status := got.Status.ContainerStatuses[0]
		switch {
		case status.Resources == nil || status.Resources.Requests.Cpu().String() != cpu || status.AllocatedResources.Cpu().String() != cpu:
			return fmt.Errorf("it has %+v of %v", status.Resources, status.AllocatedResources)
		case status.RestartCount != restarts || status.State.Running == nil:
			return fmt.Errorf("it was restarted %d times", status.RestartCount)
		case reason != pending:
			return fmt.Errorf("its resize is pending for %q", reason)
		}
		return nil
	})
}

func smallNode(o *minikcm.Options) {
	o.Nodes.Spec.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
}

func TestResize(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t, minikcmtest.WithOptions(smallNode))
	c.run(cpuPod("a", "1"))
	c.run(cpuPod("b", "2", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.hasCPU("a", "1", 0, "")
	must(c.resize("a", requestCPU("2")))
	c.hasCPU("a", "2", 0, "")
	// Nothing is left until another pod is resized down.
	must(c.resize("a", requestCPU("3")))
	c.hasCPU("a", "2", 0, "Deferred: Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000")
	must(c.resize("b", requestCPU("1")))
	c.hasCPU("b", "1", 1, "")
	c.hasCPU("a", "3", 0, "")
	// What was wanted is taken back.
	must(c.resize("a", requestCPU("4")))
	c.hasCPU("a", "3", 0, "Deferred: Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000")
	if err := c.resize("a", requestCPU("10")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "node didn't have enough allocatable resources: cpu, requested: 10000, allocatable: 4000") {
		t.Errorf("more than the node has (PodResizeValidator): %v", err)
	}
	must(c.resize("a", requestCPU("500m")))
	c.hasCPU("a", "500m", 0, "")
	// What the pod has left can be used by others.
	c.run(cpuPod("c", "2500m"))
	pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	must(err)
	if got := pod.Generation; got != 5 {
		t.Errorf("the generation is %d after four changes", got)
	}
	c.Eventually("the events", func(ctx context.Context, client kubernetes.Interface) error {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a"})
		if err != nil {
			return err
		}
		seen := map[string]string{}
		for i := range events.Items {
			seen[events.Items[i].Reason] = events.Items[i].Message
		}
		for reason, want := range map[string]string{
			"ResizeStarted": `Pod resize started: {"containers":[{"name":"main","resources":{"requests":{"cpu":`, "ResizeCompleted": "Pod resize completed: {", "ResizeDeferred": `Pod resize OutOfcpu: {`,
		} {
			if !strings.HasPrefix(seen[reason], want) {
				return fmt.Errorf("event %s says %q", reason, seen[reason])
			}
		}
		return nil
	})
}

func TestResizeRefused(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	c.run(cpuPod("a", "1"))
	for patch, want := range map[string]string{
		`"resources":{"requests":{"cpu":null}}`:                                         "resource requests cannot be removed",
		`"resources":{"requests":{"cpu":"1","example.com/x":"1"}}`:                      "only cpu and memory resources are mutable",
		`"resources":{"limits":{"cpu":"500m"}}`:                                         "must be less than or equal to cpu limit",
		`"resources":{"requests":{"cpu":"-1"}}`:                                         "must be greater than or equal to 0",
		`"resizePolicy":[{"resourceName":"cpu","restartPolicy":"Whatever"}]`:            "only cpu and memory resources are mutable",
		`"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"memory":"1Gi"}}`: "Pod QOS Class may not change as a result of resizing",
	} {
		err := c.resize("a", patch)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", patch, err, want)
		}
	}
	if err := c.resize("none", requestCPU("1")); !apierrors.IsNotFound(err) {
		t.Errorf("of a pod that is not there: %v", err)
	}
	// All else that is sent is ignored, and the plain update changes no resources.
	if err := c.resize("a", `"image":"other"`); err != nil {
		t.Error(err)
	}
	pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Spec.Containers[0].Image != "nginx" {
		t.Error("the image was changed")
	}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	if _, err := c.client.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("of a plain update: %v", err)
	}
}
