package minikcmtest_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// deployment returns a Deployment of one pod.
func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

// Clusters with other names and UIDs have the same golden objects, once they have settled.
func TestGoldenRollout(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed+1), func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Seed = seed + 1 }))
			if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), deployment(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			begin := c.Clock().Now()
			c.Settle()
			sets, err := c.Client().AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			minikcmtest.Golden(t, "testdata/rollout.yaml", sets, pods)
			if passed := c.Clock().Since(begin); passed != 0 {
				t.Errorf("%v passed", passed)
			}
		})
	}
}

// Without virtual time, Settle waits for the controllers' reactions, too.
func TestSettleInRealTime(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0))
	if _, err := c.Client().AppsV1().Deployments("default").Create(t.Context(), deployment(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("there are %d pods, %v; want 1", len(pods.Items), err)
	}
}
