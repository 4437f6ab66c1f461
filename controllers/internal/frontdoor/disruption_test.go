package controllers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

const (
	budgetReplicas       = 10
	budgetMaxUnavailable = 3
)

// TestEvictionsKeepTheBudget evicts all pods repeatedly, and records the largest number of
// pods that are disrupted at a time.
func TestEvictionsKeepTheBudget(t *testing.T) {
	cluster := minikcmtest.New(t, minikcmtest.WithNodes(3), minikcmtest.WithVirtualTime())
	ctx, client := t.Context(), cluster.Client()
	labels := map[string]string{"app": "web"}
	_, err := client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: ptr.To(intstr.FromInt32(budgetMaxUnavailable)),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](budgetReplicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				// No new pod becomes ready before the cluster's time advances.
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"minikcm.dev/ready-delay": "10s"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		cluster.Eventually("all pods to be healthy", allowedOf(budgetMaxUnavailable))
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		evicted, refused := evictAll(ctx, t, client, pods.Items)
		if evicted != budgetMaxUnavailable || refused != budgetReplicas-budgetMaxUnavailable {
			t.Fatalf("round %d: %d evicted and %d refused at once, of %d with at most %d unavailable", round, evicted, refused, budgetReplicas, budgetMaxUnavailable)
		}
	}
	evictions := 0
	for _, w := range cluster.Writes().Writes(nil) {
		if w.Resource.Resource == "poddisruptionbudgets" && w.Verb == "create" && w.Subresource == "status" {
			evictions++
		}
	}
	if evictions != 5*budgetMaxUnavailable {
		t.Errorf("the write record has %d evictions", evictions)
	}
}

func allowedOf(n int32) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		budget, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := budget.Status; s.DisruptionsAllowed != n || s.ExpectedPods != budgetReplicas || len(s.DisruptedPods) > 0 {
			return fmt.Errorf("the budget's status is %+v", s)
		}
		return nil
	}
}

func evictAll(ctx context.Context, t *testing.T, client kubernetes.Interface, pods []corev1.Pod) (evicted, refused int64) {
	t.Helper()
	var granted, denied atomic.Int64
	var group sync.WaitGroup
	for _, pod := range pods {
		group.Go(func() {
			err := client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})
			switch {
			case err == nil:
				granted.Add(1)
			case apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
				denied.Add(1)
			default:
				t.Errorf("evicting %s: %v", pod.Name, err)
			}
		})
	}
	group.Wait()
	return granted.Load(), denied.Load()
}
