package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

func podOn(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

// TestPodsOfAGoneNodeGo also checks the last status of the pod.
func TestPodsOfAGoneNodeGo(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	client := c.Client()
	made, err := client.CoreV1().Pods("default").Create(t.Context(), podOn("ghost"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	gone := make(chan runtime.Object, 1)
	go func() { // read all events: unread ones would hold virtual time
		for ev := range watcher.ResultChan() {
			if ev.Type == watch.Deleted {
				gone <- ev.Object
			}
		}
	}()
	start := c.Clock().Now()
	c.Eventually("the pod to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	if took := c.Clock().Since(start); took < 40*time.Second || took > 60*time.Second {
		t.Errorf("it took %v", took)
	}
	last, ok := (<-gone).(*corev1.Pod)
	if !ok || last.Status.Phase != corev1.PodFailed {
		t.Fatalf("the last of it: %+v", last)
	}
	at := slices.IndexFunc(last.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if at < 0 {
		t.Fatalf("conditions: %+v", last.Status.Conditions)
	}
	if c := last.Status.Conditions[at]; c.Reason != "DeletionByPodGC" || c.Message != "PodGC: node no longer exists" {
		t.Errorf("condition: %+v", c)
	}
}
