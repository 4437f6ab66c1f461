package controllers_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestTwinsAreMerged gives a DaemonSet a second revision of its current template. The newer
// revision stays, and no pod is replaced because of it.
func TestDaemonSetTwinsAreMerged(t *testing.T) {
	t.Parallel()
	c := newDaemonCluster(t, 2, nil)
	c.eventually("the pods", onNodes(2))
	before := map[string]bool{}
	for _, pod := range c.pods() {
		before[pod.Name] = true
	}
	revisions := c.Client().AppsV1().ControllerRevisions("default")
	list, err := revisions.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d revisions, %v", len(list.Items), err)
	}
	twin := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "twin", Labels: map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: "twin"}},
		Data:       list.Items[0].Data,
		Revision:   7,
	}
	if _, err := revisions.Create(t.Context(), twin, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("one revision, of which the pods are", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.AppsV1().ControllerRevisions("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Name != "twin" || list.Items[0].Revision != 7 {
			return fmt.Errorf("revisions %+v", list.Items)
		}
		for _, pod := range c.pods() {
			if hash := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != "twin" || !before[pod.Name] {
				return fmt.Errorf("pod %s is of %s", pod.Name, hash)
			}
		}
		return nil
	})
}
