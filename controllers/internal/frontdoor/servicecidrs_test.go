package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/servicecidrs"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestAServiceCIDRGoesAfterItsServices deletes a range in which a Service has an address.
func TestAServiceCIDRGoesAfterItsServices(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(servicecidrs.Name))
	cidrs, services := c.Client().NetworkingV1().ServiceCIDRs(), c.Client().CoreV1().Services("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(status metav1.ConditionStatus, reason string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, _ kubernetes.Interface) error {
			cidr, err := cidrs.Get(ctx, "more", metav1.GetOptions{})
			if err != nil {
				return err
			}
			condition := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
			if condition == nil || condition.Status != status || condition.Reason != reason || len(cidr.Finalizers) != 1 {
				return fmt.Errorf("finalizers %v, condition %v", cidr.Finalizers, condition)
			}
			return nil
		}
	}
	must(cidrs.Create(ctx, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24"}},
	}, metav1.CreateOptions{}))
	c.Eventually("a ready service CIDR", is(metav1.ConditionTrue, ""))
	must(services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: "10.9.0.7", Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))
	must(nil, cidrs.Delete(ctx, "more", metav1.DeleteOptions{}))
	c.Eventually("a service CIDR that waits for its addresses", is(metav1.ConditionFalse, "Terminating"))
	must(nil, services.Delete(ctx, "web", metav1.DeleteOptions{}))
	c.Advance(ctx, 11*time.Second)
	c.Eventually("it to be gone", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := cidrs.Get(ctx, "more", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
	must(nil, cidrs.Delete(ctx, "kubernetes", metav1.DeleteOptions{}))
	c.Eventually("the default one to be kept", func(ctx context.Context, _ kubernetes.Interface) error {
		cidr, err := cidrs.Get(ctx, "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if meta.IsStatusConditionTrue(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady) {
			return errors.New("it is still ready")
		}
		return nil
	})
}
