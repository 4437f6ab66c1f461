package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
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
		// status is the label status of the metric.
		status string
	}{
		"failed": {
			func(c *deviceCluster, claim *resourcev1.ResourceClaim) { c.report(claim, "example.com/broken") },
			`device binding failed: claim=one, reason=Reported, message="by the fabric"`,
			"failure",
		},
		"timeout": {
			func(c *deviceCluster, _ *resourcev1.ResourceClaim) {
				c.must(nil, c.Advance(c.ctx, 10*time.Minute+time.Second))
			},
			"device binding timeout: claim=one",
			"timeout",
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
			c.mustMeasure(
				`scheduler_dra_bindingconditions_allocations_total{driver="gpu.example.com",profile="default-scheduler",status="`+failure.status+`"} 1`,
				`dynamic_resource_allocation_resource_claims{admin_access="false",allocated="true",source=""} 1`,
			)
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

// restarted returns a cluster that starts from this one's etcd, at its time.
func (c *deviceCluster) restarted(opts ...minikcmtest.Option) *deviceCluster {
	c.t.Helper()
	file, err := os.Create(filepath.Join(c.t.TempDir(), "etcd.db"))
	c.must(file, err)
	c.must(nil, errors.Join(c.Snapshot(c.ctx, file), file.Close()))
	return &deviceCluster{minikcmtest.New(c.t, append(opts, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Storage.Snapshot, o.Clock.Start = file.Name(), c.Clock().Now()
	}))...), c.t, c.ctx}
}

// TestRestartWhileDevicesAreBound starts a scheduler while a pod waits for its devices: the pod keeps its node and its
// devices, and the time that they have.
func TestRestartWhileDevicesAreBound(t *testing.T) {
	t.Parallel()
	attached := func(c *deviceCluster) { c.report(c.onlyClaim(), "example.com/attached") }
	for name, tt := range map[string]struct {
		// before is done while no scheduler runs, after when one runs again.
		before, after func(c *deviceCluster)
		moved         bool
	}{
		"attached later": {after: func(c *deviceCluster) {
			c.must(nil, c.Advance(c.ctx, 4*time.Minute))
			c.mustWait("a")
			attached(c)
		}},
		"attached meanwhile": {before: attached},
		"not in time": {after: func(c *deviceCluster) {
			c.must(nil, c.Advance(c.ctx, 5*time.Minute+time.Second))
			c.EventuallyEvent("default", "Pod", `Warning FailedScheduling running PreBind plugin "DynamicResources": device binding timeout: claim=one`)
			c.must(nil, c.Advance(c.ctx, time.Minute))
			attached(c)
		}, moved: true},
		"time is over meanwhile": {before: func(c *deviceCluster) { c.must(nil, c.Advance(c.ctx, 6*time.Minute)) }, after: func(c *deviceCluster) {
			c.must(nil, c.Advance(c.ctx, time.Minute))
			attached(c)
		}, moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDeviceCluster(t)
			node := c.fabric()
			c.must(c.Client().ResourceV1().ResourceClaims("default").Create(c.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: gpus(1)}, metav1.CreateOptions{}))
			c.pod("a", corev1.PodResourceClaim{ResourceClaimName: ptr.To("one")})
			first := c.eventuallyAllocated(func(*resourcev1.ResourceClaim) bool { return true })
			c.must(nil, c.Advance(c.ctx, 5*time.Minute))
			c.mustExpect("a", node)
			if tt.before != nil {
				c = c.restarted(minikcmtest.WithoutScheduler())
				tt.before(c)
			}
			c = c.restarted()
			if tt.after != nil {
				tt.after(c)
			}
			c.eventuallyRuns("a")
			c.mustExpect("a", "")
			again := c.onlyClaim()
			if moved := again.Status.Allocation.AllocationTimestamp.After(first.Status.Allocation.AllocationTimestamp.Time); moved != tt.moved {
				t.Errorf("the claim was allocated again: %t, want %t", moved, tt.moved)
			}
			if reserved := again.Status.ReservedFor; len(reserved) != 1 || reserved[0].Name != "a" {
				t.Errorf("reserved for %v", reserved)
			}
		})
	}
}

// TestRestartWhileAnExtendedResourceIsBound frees the devices that a scheduler has allocated for a pod's extended resource
// before it ended, and allocates others.
func TestRestartWhileAnExtendedResourceIsBound(t *testing.T) {
	t.Parallel()
	c := newDeviceCluster(t)
	c.fabric()
	class, err := c.Client().ResourceV1().DeviceClasses().Get(c.ctx, "gpu", metav1.GetOptions{})
	c.must(class, err)
	class.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	c.must(c.Client().ResourceV1().DeviceClasses().Update(c.ctx, class, metav1.UpdateOptions{}))
	two := corev1.ResourceList{"example.com/gpu": resource.MustParse("2")}
	c.must(c.Client().CoreV1().Pods("default").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Limits: two}}},
	}}, metav1.CreateOptions{}))
	first := c.eventuallyAllocated(func(*resourcev1.ResourceClaim) bool { return true })
	c = c.restarted()
	again := c.eventuallyAllocated(func(claim *resourcev1.ResourceClaim) bool { return claim.UID != first.UID })
	c.mustWait("a")
	for _, result := range again.Status.Allocation.Devices.Results {
		again.Status.Devices = append(again.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: result.Driver, Pool: result.Pool, Device: result.Device, Conditions: []metav1.Condition{{
			Type: result.BindingConditions[0], Status: metav1.ConditionTrue, Reason: "Reported", LastTransitionTime: *again.Status.Allocation.AllocationTimestamp,
		}}})
	}
	c.must(c.Client().ResourceV1().ResourceClaims("default").UpdateStatus(c.ctx, again, metav1.UpdateOptions{}))
	c.eventuallyRuns("a")
	c.onlyClaim()
	c.mustMeasure(
		`dynamic_resource_allocation_resource_claims{admin_access="false",allocated="true",source="extended_resource"} 1`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"} 1`,
	)
}

// onlyClaim returns the only resource claim.
func (c *deviceCluster) onlyClaim() *resourcev1.ResourceClaim {
	c.t.Helper()
	claims, err := c.Client().ResourceV1().ResourceClaims("default").List(c.ctx, metav1.ListOptions{})
	c.must(claims, err)
	if len(claims.Items) != 1 {
		c.t.Fatalf("claims %v", claims.Items)
	}
	return &claims.Items[0]
}

// mustExpect checks the node that a pod's status names while its devices are bound.
func (c *deviceCluster) mustExpect(name, node string) {
	c.t.Helper()
	p, err := c.Client().CoreV1().Pods("default").Get(c.ctx, name, metav1.GetOptions{})
	c.must(p, err)
	if p.Status.NominatedNodeName != node {
		c.t.Errorf("pod %s has the nominated node %q, want %q", name, p.Status.NominatedNodeName, node)
	}
}
