package minikcmtest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	of := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: of},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: of},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

// podsByNode returns the numbers of the app's pods on each of the nodes, in ascending order.
func podsByNode(ctx context.Context, client kubernetes.Interface, app string, nodes int) ([]int, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for i := range pods.Items {
		if node := pods.Items[i].Spec.NodeName; node != "" {
			counts[node]++
		}
	}
	all := make([]int, nodes)
	i := 0
	for _, n := range counts {
		all[i] = n
		i++
	}
	slices.Sort(all)
	return all, nil
}

// A Deployment's pods are spread evenly over equal nodes, also after it is scaled up.
func TestDeploymentsAreSpread(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(3), minikcmtest.WithVirtualTime())
	if _, err := c.Client().AppsV1().Deployments(metav1.NamespaceDefault).Create(t.Context(), deploymentOf("web", 6), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect := func(want ...int) {
		t.Helper()
		c.Eventually(fmt.Sprintf("pods by node to be %v", want), func(ctx context.Context, client kubernetes.Interface) error {
			got, err := podsByNode(ctx, client, "web", 3)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("pods by node are %v", got)
			}
			return err
		})
	}
	expect(2, 2, 2)
	patch := []byte(`{"spec":{"replicas":30}}`)
	if _, err := c.Client().AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), "web", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(10, 10, 10)
}
