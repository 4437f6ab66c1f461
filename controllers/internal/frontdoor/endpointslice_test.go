package controllers_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

var webLabels = map[string]string{"app": "web"}

func webDeployment(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: webLabels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: webLabels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

func webService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: webLabels},
		Spec: corev1.ServiceSpec{
			Selector: webLabels,
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

// servesEndpoints checks that so many endpoints are ready, in the slices and in the legacy object.
func servesEndpoints(want int) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		slices, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		ready := 0
		for _, slice := range slices.Items {
			if slice.Labels[discoveryv1.LabelManagedBy] != "endpointslice-controller.k8s.io" || slice.Labels["app"] != "web" {
				return fmt.Errorf("labels of %s: %v", slice.Name, slice.Labels)
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					ready++
				}
			}
		}
		legacy, err := client.CoreV1().Endpoints("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		addresses := 0
		for _, subset := range legacy.Subsets {
			addresses += len(subset.Addresses)
		}
		if ready != want || addresses != want {
			return fmt.Errorf("%d ready endpoints in %d slices, %d addresses", ready, len(slices.Items), addresses)
		}
		return nil
	}
}

func TestEndpointsFollowPods(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	client := c.Client()
	if _, err := client.CoreV1().Services("default").Create(t.Context(), webService(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("an empty service", servesEndpoints(0))
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), webDeployment(3), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("three endpoints", servesEndpoints(3))
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Pods("default").Delete(t.Context(), pods.Items[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("a pod less and one more", func(ctx context.Context, client kubernetes.Interface) error {
		if err := servesEndpoints(3)(ctx, client); err != nil {
			return err
		}
		_, err := client.CoreV1().Pods("default").Get(ctx, pods.Items[0].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the old pod is there: %w", err)
	})
	if err := client.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("nothing to be left of the service", func(ctx context.Context, client kubernetes.Interface) error {
		slices, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Endpoints("default").Get(ctx, "web", metav1.GetOptions{})
		if len(slices.Items) == 0 && apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%d slices are left, the legacy object: %w", len(slices.Items), err)
	})
}

// TestALargeServiceIsWholeInTheEnd scales up a service whose events are batched and that
// needs several slices.
func TestEndpointSlicesOfLargeServiceAreWholeInTheEnd(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(5))
	client := c.Client()
	if _, err := client.CoreV1().Services("default").Create(t.Context(), webService(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), webDeployment(350), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("all endpoints", servesEndpoints(350))
	slices, err := client.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
	if err != nil || len(slices.Items) < 4 {
		t.Errorf("%d slices, %v", len(slices.Items), err)
	}
}
