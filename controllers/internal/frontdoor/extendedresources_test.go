package controllers_test

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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

const gpuResource = "example.com/gpu"

// extendedCluster has two nodes. The first has three GPUs of the class gpu, which backs example.com/gpu.
type extendedCluster struct {
	*minikcmtest.Cluster
	t     *testing.T
	nodes []string
}

func newExtendedCluster(t *testing.T) *extendedCluster {
	c := &extendedCluster{Cluster: minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2)), t: t}
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	c.must(err)
	for _, node := range nodes.Items {
		c.nodes = append(c.nodes, node.Name)
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &c.nodes[0], Pool: resourcev1.ResourcePool{Name: c.nodes[0], ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}, {Name: "gpu-2"}},
	}}
	_, err = c.Client().ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	c.must(err)
	return c
}

func (c *extendedCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *extendedCluster) class(name string, backs *string) {
	c.t.Helper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{
		Selectors:            []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}},
		ExtendedResourceName: backs,
	}}
	_, err := c.Client().ResourceV1().DeviceClasses().Create(c.t.Context(), class, metav1.CreateOptions{})
	c.must(err)
}

// pod creates a pod with a container for each amount of a resource.
func (c *extendedCluster) pod(name string, of corev1.ResourceName, amounts ...string) {
	c.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](0)}}
	for i, amount := range amounts {
		list := corev1.ResourceList{of: resource.MustParse(amount)}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: "i", Resources: corev1.ResourceRequirements{Requests: list, Limits: list},
		})
	}
	_, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{})
	c.must(err)
}

func (c *extendedCluster) eventuallyRuns(name string) *corev1.Pod {
	c.t.Helper()
	var pod *corev1.Pod
	c.Eventually(name+" to run", func(ctx context.Context, client kubernetes.Interface) (err error) {
		pod, err = client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s: %v", pod.Status.Phase, pod.Status.Conditions)
		}
		return err
	})
	return pod
}

func (c *extendedCluster) eventuallyNoClaims() {
	c.t.Helper()
	c.Eventually("no claims", func(ctx context.Context, client kubernetes.Interface) error {
		claims, err := client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
		if err == nil && len(claims.Items) > 0 {
			err = fmt.Errorf("%+v", claims.Items)
		}
		return err
	})
}

// TestExtendedResources runs pods with GPUs that they request as an extended resource. One waits for the class,
// and one for the end of the other.
func TestExtendedResources(t *testing.T) {
	t.Parallel()
	c := newExtendedCluster(t)
	c.pod("a", gpuResource, "2")
	c.EventuallyEvent("default", "Pod", "Warning FailedScheduling 0/2 nodes are available: 2 Insufficient example.com/gpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
	c.class("gpu", ptr.To(gpuResource))
	pod := c.eventuallyRuns("a")
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil || !strings.HasPrefix(status.ResourceClaimName, "a-extended-resources-") || len(status.RequestMappings) != 1 ||
		status.RequestMappings[0] != (corev1.ContainerExtendedResourceRequest{ContainerName: "c0", ResourceName: gpuResource, RequestName: "container-0-request-0"}) {
		t.Fatalf("status %+v", status)
	}
	claim, err := c.Client().ResourceV1().ResourceClaims("default").Get(t.Context(), status.ResourceClaimName, metav1.GetOptions{})
	c.must(err)
	request := claim.Spec.Devices.Requests[0]
	if claim.Annotations["resource.kubernetes.io/extended-resource-claim"] != "true" || !metav1.IsControlledBy(claim, pod) ||
		request.Name != "container-0-request-0" || request.Exactly.DeviceClassName != "gpu" || request.Exactly.Count != 2 {
		t.Errorf("claim %+v", claim)
	}
	if s := claim.Status; s.Allocation == nil || len(s.Allocation.Devices.Results) != 2 || len(s.ReservedFor) != 1 || s.ReservedFor[0].UID != pod.UID || claim.Finalizers[0] != resourcev1.Finalizer {
		t.Errorf("status %+v, finalizers %v", s, claim.Finalizers)
	}

	c.pod("b", gpuResource, "1", "1")
	c.EventuallyEvent("default", "Pod", "Warning FailedScheduling 0/2 nodes are available: 2 cannot allocate all claims. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
	c.must(c.Client().CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	pod = c.eventuallyRuns("b")
	if status := pod.Status.ExtendedResourceClaimStatus; status == nil || len(status.RequestMappings) != 2 || status.RequestMappings[1].RequestName != "container-1-request-0" {
		t.Errorf("status %+v", status)
	}
	c.must(c.Client().CoreV1().Pods("default").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	c.eventuallyNoClaims()
}

// TestImplicitExtendedResource requests the GPUs of a class by the class's name.
func TestImplicitExtendedResource(t *testing.T) {
	t.Parallel()
	c := newExtendedCluster(t)
	c.class("gpu", nil)
	c.pod("a", "deviceclass.resource.kubernetes.io/gpu", "3")
	if pod := c.eventuallyRuns("a"); pod.Spec.NodeName != c.nodes[0] || pod.Status.ExtendedResourceClaimStatus == nil {
		t.Errorf("%+v", pod.Status)
	}
}

// TestExtendedResourceOfDevicePlugin has a device plugin on the second node, whose resources need no claim.
func TestExtendedResourceOfDevicePlugin(t *testing.T) {
	t.Parallel()
	c := newExtendedCluster(t)
	c.class("gpu", ptr.To(gpuResource))
	c.pod("a", gpuResource, "4")
	c.EventuallyEvent("default", "Pod", "Warning FailedScheduling 0/2 nodes are available: 2 cannot allocate all claims. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
	patch := []byte(`{"status":{"capacity":{"example.com/gpu":"4"},"allocatable":{"example.com/gpu":"4"}}}`)
	_, err := c.Client().CoreV1().Nodes().Patch(t.Context(), c.nodes[1], types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	c.must(err)
	if pod := c.eventuallyRuns("a"); pod.Spec.NodeName != c.nodes[1] || pod.Status.ExtendedResourceClaimStatus != nil {
		t.Errorf("on %s, %+v", pod.Spec.NodeName, pod.Status.ExtendedResourceClaimStatus)
	}
	c.eventuallyNoClaims()
	c.pod("b", gpuResource, "1")
	if pod := c.eventuallyRuns("b"); pod.Spec.NodeName != c.nodes[0] || pod.Status.ExtendedResourceClaimStatus == nil {
		t.Errorf("on %s, %+v", pod.Spec.NodeName, pod.Status.ExtendedResourceClaimStatus)
	}
}

// TestNewestClassBacks has two classes for one resource: the newer one counts.
func TestNewestClassBacks(t *testing.T) {
	t.Parallel()
	c := newExtendedCluster(t)
	c.class("a-old", ptr.To(gpuResource))
	c.must(c.Advance(t.Context(), 2*time.Second))
	c.class("b-new", ptr.To(gpuResource))
	c.pod("a", gpuResource, "1")
	status := c.eventuallyRuns("a").Status.ExtendedResourceClaimStatus
	if status == nil {
		t.Fatal("no claim")
	}
	claim, err := c.Client().ResourceV1().ResourceClaims("default").Get(t.Context(), status.ResourceClaimName, metav1.GetOptions{})
	c.must(err)
	if class := claim.Spec.Devices.Requests[0].Exactly.DeviceClassName; class != "b-new" {
		t.Errorf("the class is %s", class)
	}
}

// TestExtendedResourceClaimIsRefused has a quota without room for the claim of a pod: its device stays free.
func TestExtendedResourceClaimIsRefused(t *testing.T) {
	t.Parallel()
	c := newExtendedCluster(t)
	c.class("gpu", ptr.To(gpuResource))
	quotas := c.Client().CoreV1().ResourceQuotas("default")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"gpu.deviceclass.resource.k8s.io/devices": resource.MustParse("1")}}}
	_, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{})
	c.must(err)
	c.Eventually("the quota to be counted", func(ctx context.Context, _ kubernetes.Interface) error {
		q, err := quotas.Get(ctx, "q", metav1.GetOptions{})
		if err == nil && len(q.Status.Used) == 0 {
			err = errors.New("it is not")
		}
		return err
	})
	c.pod("a", gpuResource, "2")
	const refused = `running PreBind plugin "DynamicResources": create claim for extended resources default/: resourceclaims.resource.k8s.io "a-extended-resources-`
	c.Eventually("the refusal", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Reason == corev1.PodReasonSchedulerError && strings.HasPrefix(condition.Message, refused)
		}) {
			err = fmt.Errorf("%v", pod.Status.Conditions)
		}
		return err
	})
	c.must(quotas.Delete(t.Context(), "q", metav1.DeleteOptions{}))
	c.eventuallyRuns("a")
}
