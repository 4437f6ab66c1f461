package controllers_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

// startDeployment returns a cluster with a Deployment of two available pods.
func startDeployment(t *testing.T) (*minikcmtest.Cluster, kubernetes.Interface) {
	t.Helper()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	client := c.Client()
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), deploymentOf("web", 2), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the deployment to be available", func(ctx context.Context, client kubernetes.Interface) error {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("%d available", d.Status.AvailableReplicas)
		}
		return err
	})
	return c, client
}

func deleteDeployment(t *testing.T, client kubernetes.Interface, policy metav1.DeletionPropagation) {
	t.Helper()
	if err := client.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// left counts the remaining objects of a Deployment.
func objectsLeft(ctx context.Context, client kubernetes.Interface) (deployments, sets, pods int, err error) {
	d, err := client.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, 0, err
	}
	r, err := client.AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, 0, err
	}
	p, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, 0, 0, err
	}
	return len(d.Items), len(r.Items), len(p.Items), nil
}

func TestDeletingADeploymentDeletesItsPods(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			c, client := startDeployment(t)
			deleteDeployment(t, client, policy)
			c.Eventually("nothing to be left", func(ctx context.Context, client kubernetes.Interface) error {
				d, r, p, err := objectsLeft(ctx, client)
				if err == nil && d+r+p > 0 {
					err = fmt.Errorf("%d deployments, %d replica sets, %d pods are left", d, r, p)
				}
				if err == nil && policy == metav1.DeletePropagationForeground && d == 0 && r+p > 0 {
					t.Errorf("the deployment went before its %d replica sets and %d pods", r, p)
				}
				return err
			})
		})
	}
}

func TestOrphaningLeavesTheReplicaSet(t *testing.T) {
	t.Parallel()
	c, client := startDeployment(t)
	deleteDeployment(t, client, metav1.DeletePropagationOrphan)
	c.Eventually("the deployment to go", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	sets, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 || len(sets.Items[0].OwnerReferences) != 0 {
		t.Fatalf("replica sets: %+v, %v", sets, err)
	}
	if _, _, pods, err := objectsLeft(t.Context(), client); err != nil || pods != 2 {
		t.Errorf("%d pods, %v", pods, err)
	}
}

func TestAReferenceIntoAnotherNamespaceIsReported(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	client := c.Client()
	owner, err := client.CoreV1().ConfigMaps("kube-system").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "dependent",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the event and the end", func(ctx context.Context, client kubernetes.Interface) error {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=OwnerRefInvalidNamespace"})
		if err != nil {
			return err
		}
		if len(events.Items) == 0 {
			return fmt.Errorf("no event")
		}
		if _, err = client.CoreV1().ConfigMaps("default").Get(ctx, "dependent", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
	if _, err := client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "owner", metav1.GetOptions{}); err != nil {
		t.Errorf("the owner: %v", err)
	}
}
