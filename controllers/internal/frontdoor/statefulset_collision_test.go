package controllers_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// TestTakenRevisionName checks that a revision gets another name if the one that it should
// have is in use.
func TestStatefulSetTakenRevisionName(t *testing.T) {
	t.Parallel()
	c := newSetCluster(t, 1, nil)
	before := c.eventually("the pod", setComplete)
	name := before.Status.CurrentRevision
	revisions := c.Client().AppsV1().ControllerRevisions("default")
	if err := c.Client().AppsV1().StatefulSets("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("all to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := revisions.Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) || len(c.pods()) > 0 {
			return fmt.Errorf("getting %s: %v; %d pods", name, err, len(c.pods()))
		}
		return nil
	})
	taken := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: runtime.RawExtension{Raw: []byte(`{"other":"data"}`)}}
	if _, err := revisions.Create(t.Context(), taken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: before.Spec})
	after := c.eventually("the pod again", setComplete)
	if after.Status.CurrentRevision == name || after.Status.CollisionCount == nil || *after.Status.CollisionCount != 1 {
		t.Errorf("status %+v; %s is taken", after.Status, name)
	}
}
