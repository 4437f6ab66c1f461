package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func TestPodsAreReplacedAdoptedAndReleased(t *testing.T) {
	eachKind(t, func(t *testing.T, c *kindCluster) {
		pods := c.Client().CoreV1().Pods("default")
		orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}, Spec: template().Spec}
		_, err := pods.Create(t.Context(), orphan, metav1.CreateOptions{})
		c.must(err)
		c.make(3, nil)
		controlled := c.ready(3)
		if !slices.ContainsFunc(controlled, func(p corev1.Pod) bool { return p.Name == "orphan" }) {
			t.Error("the orphan was not adopted")
		}
		other := controlled[0].Name
		if other == "orphan" {
			other = controlled[1].Name
		}
		c.must(pods.Delete(t.Context(), other, metav1.DeleteOptions{}))
		c.Eventually("the pod to go", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Pods("default").Get(ctx, other, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.New("it is there")
		})
		c.ready(3)
		_, err = pods.Patch(t.Context(), "orphan", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`), metav1.PatchOptions{})
		c.must(err)
		c.Eventually("the pod to be released", func(ctx context.Context, client kubernetes.Interface) error {
			p, err := client.CoreV1().Pods("default").Get(ctx, "orphan", metav1.GetOptions{})
			if err == nil && len(p.OwnerReferences) > 0 {
				err = fmt.Errorf("owners %+v", p.OwnerReferences)
			}
			return err
		})
		c.ready(3)
	})
}

func TestScaleSubresource(t *testing.T) {
	eachKind(t, func(t *testing.T, c *kindCluster) {
		c.make(3, nil)
		c.ready(3)
		scale, err := c.scale(t.Context(), c.Client())
		if err != nil || scale.Spec.Replicas != 3 || scale.Status.Selector != "app=web" {
			t.Fatalf("scale %+v, %v", scale, err)
		}
		scale.Spec.Replicas, scale.ResourceVersion = 5, "" // unconditional: the object may have changed
		c.must(c.rescale(t.Context(), c.Client(), scale))
		c.ready(5)
	})
}

func TestTheCheapestPodGoes(t *testing.T) {
	eachKind(t, func(t *testing.T, c *kindCluster) {
		c.make(4, nil)
		cheap := c.ready(4)[2].Name
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"-1"}}}`, corev1.PodDeletionCost)
		_, err := c.Client().CoreV1().Pods("default").Patch(t.Context(), cheap, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		c.must(err)
		c.must(c.patch(t.Context(), c.Client(), `{"spec":{"replicas":3}}`))
		if slices.ContainsFunc(c.ready(3), func(p corev1.Pod) bool { return p.Name == cheap }) {
			t.Errorf("%s stays though its deletion costs least", cheap)
		}
	})
}

// TestPropagation deletes the object with each propagation policy.
func TestPropagation(t *testing.T) {
	for name, policy := range map[string]*metav1.DeletionPropagation{
		"none":       nil,
		"orphan":     new(metav1.DeletePropagationOrphan),
		"background": new(metav1.DeletePropagationBackground),
		"foreground": new(metav1.DeletePropagationForeground),
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, c *kindCluster) {
				c.make(3, nil)
				c.ready(3)
				c.must(c.remove(t.Context(), c.Client(), metav1.DeleteOptions{PropagationPolicy: policy}))
				left := 0
				if policy == nil && c.orphans || policy != nil && *policy == metav1.DeletePropagationOrphan {
					left = 3
				}
				c.Eventually("it and its pods to go", func(ctx context.Context, client kubernetes.Interface) error { return c.gone(ctx, client, left) })
			})
		})
	}
}

// gone checks that the object does not exist, and that the given number of orphaned pods
// remain.
func (c *kindCluster) gone(ctx context.Context, client kubernetes.Interface, left int) error {
	if _, err := c.get(ctx, client); !apierrors.IsNotFound(err) {
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
}

// refused creates an object whose pods name a missing PriorityClass, and waits until its
// status shows the failure.
func (c *kindCluster) refused(replicas int32) {
	c.t.Helper()
	c.make(replicas, func(template *corev1.PodTemplateSpec) { template.Spec.PriorityClassName = "late" })
	c.Eventually("the failure to be reported", func(ctx context.Context, client kubernetes.Interface) error {
		owner, err := c.get(ctx, client)
		if err != nil {
			return err
		}
		if len(owner.Status.Conditions) != 1 {
			return fmt.Errorf("conditions %+v", owner.Status.Conditions)
		}
		condition := owner.Status.Conditions[0]
		if condition.Type != appsv1.ReplicaSetReplicaFailure || condition.Reason != "FailedCreate" || !strings.Contains(condition.Message, "late") {
			c.t.Errorf("condition %+v", condition)
		}
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("no event says so")
		}
		if e := list.Items[0]; e.Message != "Error creating: "+condition.Message || e.InvolvedObject.Name != "web" ||
			e.InvolvedObject.Kind != c.name || e.Source.Component != c.component {
			c.t.Errorf("event %+v", e)
		}
		return nil
	})
}

// unblamed waits until the status shows no failure.
func (c *kindCluster) unblamed() {
	c.t.Helper()
	c.Eventually("the condition to go", func(ctx context.Context, client kubernetes.Interface) error {
		owner, err := c.get(ctx, client)
		if err == nil && len(owner.Status.Conditions) > 0 {
			err = fmt.Errorf("conditions %+v", owner.Status.Conditions)
		}
		return err
	})
}

func TestRefusedPods(t *testing.T) {
	eachKind(t, func(t *testing.T, c *kindCluster) {
		c.refused(50)
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 7}
		_, err := c.Client().SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{})
		c.must(err)
		c.ready(50)
		c.unblamed()
	})
}

func TestRefusedPodsThatNobodyWants(t *testing.T) {
	eachKind(t, func(t *testing.T, c *kindCluster) {
		c.refused(2)
		c.must(c.patch(t.Context(), c.Client(), `{"spec":{"replicas":0}}`))
		c.ready(0)
		c.unblamed()
	})
}
