package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// fabric publishes two GPUs on a node that are attached to it after their allocation, and returns the node.
func (c *deviceCluster) fabric() (node string) {
	node = c.publish(2)
	slices := c.Client().ResourceV1().ResourceSlices()
	slice, err := slices.Get(c.ctx, "gpus", metav1.GetOptions{})
	c.must(slice, err)
	for i := range slice.Spec.Devices {
		d := &slice.Spec.Devices[i]
		d.BindsToNode, d.BindingConditions, d.BindingFailureConditions = ptr.To(true), []string{"example.com/attached"}, []string{"example.com/broken"}
	}
	c.must(slices.Update(c.ctx, slice, metav1.UpdateOptions{}))
	return node
}

// eventuallyAllocated returns the only claim when it has an allocation that accept returns true for.
func (c *deviceCluster) eventuallyAllocated(accept func(*resourcev1.ResourceClaim) bool) (claim *resourcev1.ResourceClaim) {
	c.t.Helper()
	c.Eventually("the claim to be allocated", func(ctx context.Context, client kubernetes.Interface) error {
		claims, err := client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range claims.Items {
			if claim = &claims.Items[i]; claim.Status.Allocation != nil && len(claim.Status.ReservedFor) > 0 && accept(claim) {
				return nil
			}
		}
		return fmt.Errorf("the claims are %v", claims.Items)
	})
	return claim
}

// report sets a condition of the device of a claim, as its driver does.
func (c *deviceCluster) report(claim *resourcev1.ResourceClaim, condition string) {
	c.t.Helper()
	result := claim.Status.Allocation.Devices.Results[0]
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: result.Driver, Pool: result.Pool, Device: result.Device, Conditions: []metav1.Condition{{
		Type: condition, Status: metav1.ConditionTrue, Reason: "Reported", Message: "by the fabric", LastTransitionTime: *claim.Status.Allocation.AllocationTimestamp,
	}}}}
	c.must(c.Client().ResourceV1().ResourceClaims("default").UpdateStatus(c.ctx, claim, metav1.UpdateOptions{}))
}

func (c *deviceCluster) mustWait(name string) {
	c.t.Helper()
	p, err := c.Client().CoreV1().Pods("default").Get(c.ctx, name, metav1.GetOptions{})
	c.must(p, err)
	if p.Spec.NodeName != "" {
		c.t.Fatalf("pod %s is bound to %s", name, p.Spec.NodeName)
	}
}

// TestBindingConditions binds a pod when its device is attached, not before.
func TestBindingConditions(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	node := c.fabric()
	c.template("one", 1)
	c.pod("a", corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("one")})
	claim := c.eventuallyAllocated(func(*resourcev1.ResourceClaim) bool { return true })
	if r := claim.Status.Allocation.Devices.Results[0]; len(r.BindingConditions) != 1 || len(r.BindingFailureConditions) != 1 {
		t.Errorf("result %+v", r)
	}
	if claim.Status.Allocation.AllocationTimestamp == nil || claim.Status.Allocation.NodeSelector == nil {
		t.Errorf("allocation %+v", claim.Status.Allocation)
	}
	c.EventuallyEvent("default", "Pod", "Normal BindingConditionsPending waiting for binding conditions for device on node "+node)
	c.must(nil, c.Advance(c.ctx, 9*time.Minute))
	c.mustWait("a")
	c.report(claim, "example.com/attached")
	c.eventuallyRuns("a")
}

// TestBindingFailure gives a pod other devices when those that it got fail, or are not ready in time.
func TestBindingFailure(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]struct {
		fail  func(c *deviceCluster, claim *resourcev1.ResourceClaim)
		event string
	}{
		"failed": {
			func(c *deviceCluster, claim *resourcev1.ResourceClaim) { c.report(claim, "example.com/broken") },
			`device binding failed: claim=one, reason=Reported, message="by the fabric"`,
		},
		"timeout": {
			func(c *deviceCluster, _ *resourcev1.ResourceClaim) {
				c.must(nil, c.Advance(c.ctx, 10*time.Minute+time.Second))
			},
			"device binding timeout: claim=one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDeviceCluster(t)
			c.fabric()
			c.must(c.Client().ResourceV1().ResourceClaims("default").Create(c.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: gpus(1)}, metav1.CreateOptions{}))
			c.pod("a", corev1.PodResourceClaim{ResourceClaimName: ptr.To("one")})
			first := c.eventuallyAllocated(func(*resourcev1.ResourceClaim) bool { return true })
			failure.fail(c, first.DeepCopy())
			c.EventuallyEvent("default", "Pod", `Warning FailedScheduling running PreBind plugin "DynamicResources": `+failure.event)
			c.must(nil, c.Advance(c.ctx, time.Minute))
			again := c.eventuallyAllocated(func(claim *resourcev1.ResourceClaim) bool {
				return claim.Status.Allocation.AllocationTimestamp.After(first.Status.Allocation.AllocationTimestamp.Time)
			})
			if len(again.Status.Devices) > 0 {
				t.Errorf("the claim has the status of devices %v", again.Status.Devices)
			}
			c.EventuallyEvent("default", "Pod", "Warning FailedScheduling 0/2 nodes are available: 2 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
			c.mustWait("a")
			c.report(again, "example.com/attached")
			c.eventuallyRuns("a")
		})
	}
}

// TestPodGoneWhileItsDevicesAreBound frees the devices of a pod that is deleted before it is bound.
func TestPodGoneWhileItsDevicesAreBound(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	c.fabric()
	c.template("two", 2)
	for _, name := range []string{"a", "b"} {
		c.pod(name, corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("two")})
		c.eventuallyAllocated(func(claim *resourcev1.ResourceClaim) bool { return claim.Status.ReservedFor[0].Name == name })
		c.mustWait(name)
		c.must(nil, c.Client().CoreV1().Pods("default").Delete(c.ctx, name, metav1.DeleteOptions{}))
	}
}
