package replicaset_test

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

	"minikcm.dev/minikcm/minikcmtest"
)

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

func create(t *testing.T, c *minikcmtest.Cluster, replicas int32, change func(rs *appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	t.Helper()
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template()},
	}
	if change != nil {
		change(rs)
	}
	made, err := c.Client().AppsV1().ReplicaSets("default").Create(t.Context(), rs, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ready waits until the ReplicaSet has so many available pods and no others, and
// returns those that it controls.
func ready(c *minikcmtest.Cluster, replicas int32) []corev1.Pod {
	var controlled []corev1.Pod
	c.Eventually(fmt.Sprintf("%d pods", replicas), func(ctx context.Context, client kubernetes.Interface) error {
		rs, err := client.AppsV1().ReplicaSets("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		controlled = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, rs) })
		s := rs.Status
		if s.ObservedGeneration < rs.Generation || s.Replicas != replicas || s.AvailableReplicas != replicas || len(controlled) != int(replicas) {
			return fmt.Errorf("it controls %d pods; status %+v", len(controlled), s)
		}
		return nil
	})
	return controlled
}

func TestPodsAreReplacedAdoptedAndReleased(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	pods := c.Client().CoreV1().Pods("default")
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web"}}, Spec: template().Spec}
	if _, err := pods.Create(t.Context(), orphan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, c, 3, nil)
	controlled := ready(c, 3)
	if !slices.ContainsFunc(controlled, func(p corev1.Pod) bool { return p.Name == "orphan" }) {
		t.Error("the orphan was not adopted")
	}
	other := controlled[0].Name
	if other == "orphan" {
		other = controlled[1].Name
	}
	if err := pods.Delete(t.Context(), other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("default").Get(ctx, other, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.New("it is there")
	})
	ready(c, 3)
	if _, err := pods.Patch(t.Context(), "orphan", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"debug"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to be released", func(ctx context.Context, client kubernetes.Interface) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, "orphan", metav1.GetOptions{})
		if err == nil && len(p.OwnerReferences) > 0 {
			err = fmt.Errorf("owners %+v", p.OwnerReferences)
		}
		return err
	})
	ready(c, 3)
}

func TestTheCheapestPodGoes(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	create(t, c, 4, nil)
	cheap := ready(c, 4)[2].Name
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"-1"}}}`, corev1.PodDeletionCost)
	if _, err := c.Client().CoreV1().Pods("default").Patch(t.Context(), cheap, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().AppsV1().ReplicaSets("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(ready(c, 3), func(p corev1.Pod) bool { return p.Name == cheap }) {
		t.Errorf("%s stays though its deletion costs least", cheap)
	}
}

func TestRefusedPods(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	create(t, c, 50, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.PriorityClassName = "late" })
	c.Eventually("the failure to be told", func(ctx context.Context, client kubernetes.Interface) error {
		rs, err := client.AppsV1().ReplicaSets("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(rs.Status.Conditions) != 1 {
			return fmt.Errorf("conditions %+v", rs.Status.Conditions)
		}
		condition := rs.Status.Conditions[0]
		if condition.Type != appsv1.ReplicaSetReplicaFailure || condition.Reason != "FailedCreate" || !strings.Contains(condition.Message, "late") {
			t.Errorf("condition %+v", condition)
		}
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("no event says so")
		}
		if e := list.Items[0]; e.Message != "Error creating: "+condition.Message || e.InvolvedObject.Name != "web" {
			t.Errorf("event %+v", e)
		}
		return nil
	})
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Value: 7}
	if _, err := c.Client().SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready(c, 50)
	rs, err := c.Client().AppsV1().ReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || len(rs.Status.Conditions) != 0 {
		t.Errorf("after the failure is over: %+v, %v", rs.Status.Conditions, err)
	}
}
