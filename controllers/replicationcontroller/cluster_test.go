package replicationcontroller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

func newController(replicas int32) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ReplicationControllerSpec{
			Replicas: &replicas,
			Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

func create(t *testing.T, c *minikcmtest.Cluster, rc *corev1.ReplicationController) {
	t.Helper()
	if _, err := c.Client().CoreV1().ReplicationControllers("default").Create(t.Context(), rc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ready waits until the controller has so many available pods and no others, and
// returns those that it controls.
func ready(c *minikcmtest.Cluster, replicas int32) []corev1.Pod {
	var controlled []corev1.Pod
	c.Eventually(fmt.Sprintf("%d pods", replicas), func(ctx context.Context, client kubernetes.Interface) error {
		rc, err := client.CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		controlled = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, rc) })
		s := rc.Status
		if s.ObservedGeneration < rc.Generation || s.Replicas != replicas || s.AvailableReplicas != replicas || len(controlled) != int(replicas) {
			return fmt.Errorf("it controls %d pods; status %+v", len(controlled), s)
		}
		return nil
	})
	return controlled
}

func TestScaleAdoptRelease(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	core := c.Client().CoreV1()
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}, Spec: newController(1).Spec.Template.Spec}
	if _, err := core.Pods("default").Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, c, newController(3))
	pods := ready(c, 3)
	if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == "orphan" }) {
		t.Error("the orphan was not adopted")
	}
	if _, err := core.Pods("default").Patch(t.Context(), "orphan", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to be released", func(ctx context.Context, client kubernetes.Interface) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, "orphan", metav1.GetOptions{})
		if err == nil && len(p.OwnerReferences) > 0 {
			err = fmt.Errorf("owners %+v", p.OwnerReferences)
		}
		return err
	})
	scale, err := core.ReplicationControllers("default").GetScale(t.Context(), "web", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 3 || scale.Status.Selector != "app=web" {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	scale.Spec.Replicas, scale.ResourceVersion = 5, "" // whatever was written meanwhile
	if _, err := core.ReplicationControllers("default").UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready(c, 5)
}

// TestPropagation deletes with each policy. Of this kind alone, none is to orphan.
func TestPropagation(t *testing.T) {
	for name, policy := range map[string]*metav1.DeletionPropagation{
		"none":       nil,
		"orphan":     new(metav1.DeletePropagationOrphan),
		"background": new(metav1.DeletePropagationBackground),
		"foreground": new(metav1.DeletePropagationForeground),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
			create(t, c, newController(3))
			ready(c, 3)
			if err := c.Client().CoreV1().ReplicationControllers("default").Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: policy}); err != nil {
				t.Fatal(err)
			}
			left := 0
			if policy == nil || *policy == metav1.DeletePropagationOrphan {
				left = 3
			}
			c.Eventually("it and its pods to go", func(ctx context.Context, client kubernetes.Interface) error {
				if _, err := client.CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					return fmt.Errorf("it is there: %w", err)
				}
				pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
				if err != nil {
					return err
				}
				if len(pods.Items) != left || slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return len(p.OwnerReferences) > 0 }) {
					return fmt.Errorf("%d pods are left", len(pods.Items))
				}
				return nil
			})
		})
	}
}

func TestRefusedPods(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	rc := newController(2)
	rc.Spec.Template.Spec.PriorityClassName = "late"
	create(t, c, rc)
	c.Eventually("the failure to be told", func(ctx context.Context, client kubernetes.Interface) error {
		rc, err := client.CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(rc.Status.Conditions) != 1 {
			return fmt.Errorf("conditions %+v", rc.Status.Conditions)
		}
		condition := rc.Status.Conditions[0]
		if condition.Type != corev1.ReplicationControllerReplicaFailure || condition.Reason != "FailedCreate" || !strings.Contains(condition.Message, "late") {
			t.Errorf("condition %+v", condition)
		}
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("no event says so")
		}
		if e := list.Items[0]; e.InvolvedObject.Kind != "ReplicationController" || e.Source.Component != "replication-controller" {
			t.Errorf("event %+v", e)
		}
		return nil
	})
	if _, err := c.Client().CoreV1().ReplicationControllers("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	ready(c, 0)
	c.Eventually("the condition to go", func(ctx context.Context, client kubernetes.Interface) error {
		rc, err := client.CoreV1().ReplicationControllers("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && len(rc.Status.Conditions) > 0 {
			err = fmt.Errorf("conditions %+v", rc.Status.Conditions)
		}
		return err
	})
}
