package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

const devicesAnnotation = "minikcm.dev/devices"

func eventuallySlice(c *minikcmtest.Cluster, node string, want string) {
	c.Eventually("the slices of "+node, func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		got := ""
		for _, s := range list.Items {
			got += fmt.Sprintf("%s of %s: %d;", s.Name, s.OwnerReferences[0].Name, len(s.Spec.Devices))
		}
		if got != want {
			err = errors.Join(fmt.Errorf("%q, not %q", got, want), err)
		}
		return err
	})
}

// TestDevicesOfANode changes the annotation of a node and deletes the node.
func TestDevicesOfANode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Pools = []minikcm.Pool{{Name: "gpu", Count: 1, Node: minikcm.NodeSpec{Annotations: map[string]string{devicesAnnotation: "gpu.example.com 2 model=a100"}}}}
	}))
	nodes := c.Client().CoreV1().Nodes()
	eventuallySlice(c, "gpu-0", "gpu-0-gpu.example.com-0 of gpu-0: 2;")
	if _, err := c.Client().ResourceV1().DeviceClasses().Get(ctx, "gpu.example.com", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	node, err := nodes.Get(ctx, "gpu-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Annotations[devicesAnnotation] = "gpu.example.com 4\nnonsense"
	if _, err := nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventuallySlice(c, "gpu-0", "gpu-0-gpu.example.com-0 of gpu-0: 4;")
	c.EventuallyEvent("default", "Node", `Warning InvalidSimulation annotation minikcm.dev/devices: "nonsense": the number of devices is missing`)
	if err := nodes.Delete(ctx, "gpu-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the slice to go with its node", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.ResourceV1().ResourceSlices().Get(ctx, "gpu-0-gpu.example.com-0", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// TestKubeletWaitsForItsClaim creates a pod with a node whose claim is not allocated.
func TestKubeletWaitsForItsClaim(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1), minikcmtest.WithoutScheduler())
	claims, pods := c.Client().ResourceV1().ResourceClaims("default"), c.Client().CoreV1().Pods("default")
	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "i"}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("one")}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const failed = "Warning FailedPrepareDynamicResources Failed to prepare dynamic resources: prepare dynamic resources: "
	c.EventuallyEvent("default", "Pod", failed+`fetch ResourceClaim one: resourceclaims.resource.k8s.io "one" not found`)
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}
	if claim, err = claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.EventuallyEvent("default", "Pod", fmt.Sprintf(failed+"pod p (%s) is not allowed to use ResourceClaim one (%s)", pod.UID, claim.UID))
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: "gpu.example.com", Pool: "node-0", Device: "gpu-0"},
	}}}
	if _, err := claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the pod to run", func(ctx context.Context, _ kubernetes.Interface) error { // the resourceclaim-controller reserves the claim
		p, err := pods.Get(ctx, "p", metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
}
