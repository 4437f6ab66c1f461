package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

func claimSpec(class string) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class},
	}}}}
}

func podClaiming(name string, claim corev1.PodResourceClaim) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers:     []corev1.Container{{Name: "c", Image: "i"}},
		ResourceClaims: []corev1.PodResourceClaim{claim},
	}}
}

// TestGeneratedClaims creates a pod before the template of its claim, and deletes the claim and
// then the pod.
func TestGeneratedClaims(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithoutScheduler())
	claims, pods := c.Client().ResourceV1().ResourceClaims("default"), c.Client().CoreV1().Pods("default")
	pod, err := pods.Create(ctx, podClaiming("p", corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To("t")}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.EventuallyEvent("default", "Pod", `Warning FailedResourceClaimCreation PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found`)
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	template.Spec.Labels, template.Spec.Spec = map[string]string{"of": "t"}, claimSpec("gpu")
	if _, err := c.Client().ResourceV1().ResourceClaimTemplates("default").Create(ctx, template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var claim *resourcev1.ResourceClaim
	generated := func(ctx context.Context, _ kubernetes.Interface) error {
		pod, err := pods.Get(ctx, "p", metav1.GetOptions{})
		if err != nil || len(pod.Status.ResourceClaimStatuses) != 1 {
			return errors.Join(fmt.Errorf("status %v", pod.Status.ResourceClaimStatuses), err)
		}
		claim, err = claims.Get(ctx, *pod.Status.ResourceClaimStatuses[0].ResourceClaimName, metav1.GetOptions{})
		return err
	}
	c.Eventually("the claim", generated)
	if !strings.HasPrefix(claim.Name, "p-gpu-") || claim.Labels["of"] != "t" || claim.Annotations["resource.kubernetes.io/pod-claim-name"] != "gpu" || !metav1.IsControlledBy(claim, pod) {
		t.Errorf("%+v", claim.ObjectMeta)
	}
	if err := claims.Delete(ctx, claim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("another claim", generated)
	if list, err := claims.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%v, %v", list.Items, err)
	}
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the claim to go with its pod", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := claims.Get(ctx, claim.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// TestReservations creates a pod with a node that uses an allocated claim, and deletes it.
func TestReservations(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithoutScheduler())
	claims, pods := c.Client().ResourceV1().ResourceClaims("default"), c.Client().CoreV1().Pods("default")
	claim, err := claims.Create(ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: []string{resourcev1.Finalizer}}, Spec: claimSpec("gpu")}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "one", Driver: "d.example.com", Pool: "p", Device: "d"},
	}}}
	if _, err := claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := podClaiming("p", corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("c")})
	nodes, err := c.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatal(nodes, err)
	}
	pod.Spec.NodeName = nodes.Items[0].Name
	pod, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the reservation", func(ctx context.Context, _ kubernetes.Interface) error {
		claim, err := claims.Get(ctx, "c", metav1.GetOptions{})
		if err != nil || len(claim.Status.ReservedFor) != 1 || claim.Status.ReservedFor[0].UID != pod.UID {
			return errors.Join(fmt.Errorf("reserved for %v", claim.Status.ReservedFor), err)
		}
		return nil
	})
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the claim to be free", func(ctx context.Context, _ kubernetes.Interface) error {
		claim, err := claims.Get(ctx, "c", metav1.GetOptions{})
		if err != nil || len(claim.Status.ReservedFor) != 0 || claim.Status.Allocation != nil || slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
			return errors.Join(fmt.Errorf("%v %v", claim.Finalizers, claim.Status), err)
		}
		return nil
	})
}
