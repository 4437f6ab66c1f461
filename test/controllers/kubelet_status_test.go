package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestKubeletRestoresStatus checks that the status that a client writes stays until the kubelet
// compares statuses, every ten seconds, and that conditions of others stay for good.
func TestKubeletRestoresStatus(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	pods := c.Client().CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	const patch = `{"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "example.com/checked", "status": "True"}]}}`
	conditions := func() string {
		t.Helper()
		pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady || condition.Type == "example.com/checked" {
				text += fmt.Sprintf("%s=%s ", condition.Type, condition.Status)
			}
		}
		return text
	}
	for range 2 {
		if _, err := pods.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		c.Settle()
		if got, want := conditions(), "Ready=False example.com/checked=True "; got != want {
			t.Errorf("after the patch: %s, want %s", got, want)
		}
		if err := c.Advance(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if got, want := conditions(), "example.com/checked=True Ready=True "; got != want {
			t.Errorf("ten seconds later: %s, want %s", got, want)
		}
	}
}
