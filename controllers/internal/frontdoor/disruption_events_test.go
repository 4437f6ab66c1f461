package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestBudgetsThatSayNothing creates the pods of a Job, whose size no budget with a
// percentage can determine, under two budgets, so that none can be evicted.
func TestBudgetsThatSayNothing(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	labels := map[string]string{"app": "work"}
	budgets := c.Client().PolicyV1().PodDisruptionBudgets("default")
	for _, name := range []string{"one", "other"} {
		b := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(1))},
		}
		if _, err := budgets.Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "work"}}},
	}}}
	if _, err := c.Client().BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "other"} {
		c.Eventually("the condition of the budget "+name, func(ctx context.Context, client kubernetes.Interface) error {
			b, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range b.Status.Conditions {
				if condition.Reason == policyv1.SyncFailedReason && condition.Message == "jobs.batch does not implement the scale subresource" {
					return nil
				}
			}
			return fmt.Errorf("conditions %+v", b.Status.Conditions)
		})
	}
	c.Eventually("the event about the pod", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=MultiplePodDisruptionBudgets,involvedObject.kind=Pod"})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
}
