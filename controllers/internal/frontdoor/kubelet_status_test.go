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

// TestNodeEventsCarryUIDs checks that the events of a node refer to its object: an earlier node of that
// name had another UID.
func TestNodeEventsCarryUIDs(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	c.Settle()
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=node-0"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list.Items {
		seen[e.Source.Component] = true
		if o := e.InvolvedObject; o.UID != node.UID || o.APIVersion != "v1" {
			t.Errorf("%s of %s is about %s %s with UID %s, want v1 and %s", e.Reason, e.Source.Component, o.APIVersion, o.Kind, o.UID, node.UID)
		}
	}
	if !seen["kubelet"] || !seen["node-controller"] {
		t.Errorf("there are events of %v only", seen)
	}
}
