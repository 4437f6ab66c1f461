package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

// deviceCluster has a class of GPUs, and nodes with some of them.
type deviceCluster struct {
	*minikcmtest.Cluster
	t   *testing.T
	ctx context.Context
}

func newDeviceCluster(t *testing.T) *deviceCluster {
	c := &deviceCluster{minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2)), t, t.Context()}
	return c
}

func (c *deviceCluster) must(_ any, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// publish creates the class and a slice with a number of GPUs on a node.
func (c *deviceCluster) publish(gpus int) (node string) {
	nodes, err := c.Client().CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(nodes, err)
	node = nodes.Items[0].Name
	c.must(c.Client().ResourceV1().DeviceClasses().Create(c.ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`},
		}}},
	}, metav1.CreateOptions{}))
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
	}}
	for i := range gpus {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	c.must(c.Client().ResourceV1().ResourceSlices().Create(c.ctx, slice, metav1.CreateOptions{}))
	return node
}

func gpus(count int64) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: count},
	}}}}
}

func (c *deviceCluster) template(name string, count int64) {
	c.must(c.Client().ResourceV1().ResourceClaimTemplates("default").Create(c.ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpus(count)},
	}, metav1.CreateOptions{}))
}

func (c *deviceCluster) pod(name string, claim corev1.PodResourceClaim) {
	claim.Name = "gpu"
	c.must(c.Client().CoreV1().Pods("default").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}}, ResourceClaims: []corev1.PodResourceClaim{claim}, TerminationGracePeriodSeconds: ptr.To[int64](0),
	}}, metav1.CreateOptions{}))
}

func (c *deviceCluster) eventuallyRuns(name string) {
	c.t.Helper()
	c.Eventually(name+" to run", func(ctx context.Context, client kubernetes.Interface) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s: %v", p.Status.Phase, p.Status.Conditions)
		}
		return err
	})
}

func (c *deviceCluster) eventuallyWaits(name, why string) {
	c.t.Helper()
	c.Eventually(name+" to wait", func(ctx context.Context, client kubernetes.Interface) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Message == why {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %v", p.Status.Conditions)
	})
}

// TestTwoGPUs runs a pod with two of three GPUs. Another one waits until the first has gone.
func TestTwoGPUs(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	c.template("two", 2)
	c.pod("a", corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("two")})
	c.eventuallyWaits("a", `0/2 nodes are available: request gpus: device class gpu does not exist. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.`)
	node := c.publish(3)
	c.eventuallyRuns("a")
	claims, err := c.Client().ResourceV1().ResourceClaims("default").List(c.ctx, metav1.ListOptions{})
	c.must(claims, err)
	claim := claims.Items[0]
	if allocation := claim.Status.Allocation; allocation == nil || len(allocation.Devices.Results) != 2 || allocation.Devices.Results[0].Pool != node || allocation.NodeSelector == nil {
		t.Errorf("allocation %+v", allocation)
	}
	if reserved := claim.Status.ReservedFor; len(reserved) != 1 || reserved[0].Name != "a" || reserved[0].Resource != "pods" || !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		t.Errorf("reserved for %v, finalizers %v", reserved, claim.Finalizers)
	}
	c.pod("b", corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("two")})
	c.eventuallyWaits("b", `0/2 nodes are available: 2 cannot allocate all claims. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.`)
	c.must(nil, c.Client().CoreV1().Pods("default").Delete(c.ctx, "a", metav1.DeleteOptions{}))
	c.eventuallyRuns("b")
	c.Eventually("the claim to go with its pod", func(ctx context.Context, client kubernetes.Interface) error {
		if _, err := client.ResourceV1().ResourceClaims("default").Get(ctx, claim.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// TestSharedClaim creates pods before their claim, which they share: they run on one node. When
// they are gone, the claim is free, and its next pod may be on another node.
func TestSharedClaim(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	c.publish(1)
	for _, name := range []string{"a", "b"} {
		c.pod(name, corev1.PodResourceClaim{ResourceClaimName: ptr.To("one")})
	}
	c.must(nil, c.Advance(c.ctx, time.Minute))
	events, err := c.Client().CoreV1().Events("default").List(c.ctx, metav1.ListOptions{})
	c.must(events, err)
	if slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return strings.Contains(e.Reason, "Failed") }) {
		t.Errorf("events %v", events.Items)
	}
	c.must(c.Client().ResourceV1().ResourceClaims("default").Create(c.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: gpus(1)}, metav1.CreateOptions{}))
	c.eventuallyRuns("a")
	c.eventuallyRuns("b")
	for _, name := range []string{"a", "b"} {
		c.must(nil, c.Client().CoreV1().Pods("default").Delete(c.ctx, name, metav1.DeleteOptions{}))
	}
	c.Eventually("the claim to be free", func(ctx context.Context, client kubernetes.Interface) error {
		claim, err := client.ResourceV1().ResourceClaims("default").Get(ctx, "one", metav1.GetOptions{})
		if err == nil && (claim.Status.Allocation != nil || len(claim.Finalizers) > 0) {
			err = fmt.Errorf("%v %v", claim.Finalizers, claim.Status)
		}
		return err
	})
}

// TestIdleClaimIsMoved deallocates a claim that no pod uses, because its node is cordoned.
func TestIdleClaimIsMoved(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	node := c.publish(1)
	claims := c.Client().ResourceV1().ResourceClaims("default")
	claim, err := claims.Create(c.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: gpus(1)}, metav1.CreateOptions{})
	c.must(claim, err)
	claim.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpus", Driver: "gpu.example.com", Pool: "gone", Device: "gpu-0"}}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"gone"}}},
		}}},
	}
	c.must(claims.UpdateStatus(c.ctx, claim, metav1.UpdateOptions{}))
	c.pod("a", corev1.PodResourceClaim{ResourceClaimName: ptr.To("one")})
	c.eventuallyRuns("a")
	claim, err = claims.Get(c.ctx, "one", metav1.GetOptions{})
	c.must(claim, err)
	if pool := claim.Status.Allocation.Devices.Results[0].Pool; pool != node {
		t.Errorf("the devices are in %s, not in %s", pool, node)
	}
	c.EventuallyEvent("default", "Pod", "Warning FailedScheduling 0/2 nodes are available: 2 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
}
