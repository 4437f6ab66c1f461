package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/serviceloadbalancer"
	"minikcm.dev/minikcm/minikcmtest"
)

type serviceCheck func(context.Context, kubernetes.Interface) error

// has checks the numbers of finalizers and ingress points of the Service "web".
func hasLoadBalancer(finalizers, points int) serviceCheck {
	return func(ctx context.Context, client kubernetes.Interface) error {
		s, err := client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(s.Finalizers) != finalizers || len(s.Status.LoadBalancer.Ingress) != points {
			return fmt.Errorf("finalizers %v, status %v", s.Finalizers, s.Status.LoadBalancer)
		}
		return nil
	}
}

// recorded checks that these events, and no others, were recorded.
func hasEvents(reasons ...string) serviceCheck {
	return func(ctx context.Context, client kubernetes.Interface) error {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Service,involvedObject.name=web"})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range events.Items {
			if e.Source.Component != "service-controller" && e.ReportingController != "service-controller" {
				return fmt.Errorf("event of %q", e.Source.Component)
			}
			got = append(got, e.Reason)
		}
		slices.Sort(got)
		if !slices.Equal(got, reasons) {
			return fmt.Errorf("events %v, want %v", got, reasons)
		}
		return nil
	}
}

func TestALoadBalancersLife(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(serviceloadbalancer.Name))
	services := c.Client().CoreV1().Services("default")
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	create := func() {
		t.Helper()
		if _, err := services.Create(ctx, web, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create()
	c.Eventually("an address", hasLoadBalancer(1, 1))
	c.Eventually("its events", hasEvents("EnsuredLoadBalancer", "EnsuringLoadBalancer"))
	s, err := services.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if point := s.Status.LoadBalancer.Ingress[0]; point.IPMode == nil || *point.IPMode != corev1.LoadBalancerIPModeVIP {
		t.Errorf("mode %v", point.IPMode)
	}
	s.Spec.Type, s.ResourceVersion = corev1.ServiceTypeClusterIP, "" // unconditional: the Service may have changed
	if _, err := services.Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("no address of another type", hasLoadBalancer(0, 0))
	c.Eventually("its events", hasEvents("DeletedLoadBalancer", "DeletingLoadBalancer", "EnsuredLoadBalancer", "EnsuringLoadBalancer"))
	if err := services.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	create()
	c.Eventually("an address again", hasLoadBalancer(1, 1))
	if err := services.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("it to be gone", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := services.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}
