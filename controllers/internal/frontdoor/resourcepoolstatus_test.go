package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestResourcePoolStatus asks for the devices of a driver with two nodes, one of which is allocated and one tainted. The
// request cannot change after its answer, and is deleted an hour later.
func TestResourcePoolStatus(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithResourcePoolStatus(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Pools = []minikcm.Pool{{Name: "gpu", Count: 2, Node: minikcm.NodeSpec{Annotations: map[string]string{"minikcm.dev/devices": "gpu.example.com 2"}}}}
	}))
	resources, requests := c.Client().ResourceV1(), c.Client().ResourceV1alpha3().ResourcePoolStatusRequests()
	create(t, resources.DeviceTaintRules().Create, `
metadata: {name: broken}
spec: {deviceSelector: {pool: gpu-1}, taint: {key: broken, effect: NoExecute}}`)
	create(t, resources.ResourceClaims("default").Create, `
metadata: {name: one}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}`)
	create(t, c.Client().CoreV1().Pods("default").Create, `
metadata: {name: one}
spec: {containers: [{name: c, image: i}], resourceClaims: [{name: gpu, resourceClaimName: one}]}`)
	c.Eventually("the claim to be allocated", func(ctx context.Context, _ kubernetes.Interface) error {
		claim, err := resources.ResourceClaims("default").Get(ctx, "one", metav1.GetOptions{})
		if err == nil && claim.Status.Allocation == nil {
			err = errors.New("it is not")
		}
		return err
	})
	create(t, requests.Create, "{metadata: {name: gpus}, spec: {driver: gpu.example.com}}")
	answered := eventuallyAnswered(c, "gpus", "gpu-0 on gpu-0: 2 = 1 + 1 + 0; gpu-1 on gpu-1: 2 = 0 + 0 + 2")
	if limit := ptr.Deref(answered.Spec.Limit, 0); limit != 100 {
		t.Errorf("limit %d", limit)
	}
	answered.Spec.Limit = ptr.To[int32](5)
	if _, err := requests.Update(ctx, answered, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a new limit: %v", err)
	}
	answered.Status.PoolCount = ptr.To[int32](7)
	if _, err := requests.UpdateStatus(ctx, answered, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a new answer: %v", err)
	}
	eventuallyDeleted(t, c, "gpus", 59*time.Minute, 2*time.Minute)
	all, err := c.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`resourcepoolstatusrequest_controller_requests_processed_total{driver_name="gpu.example.com"} 1`,
		`resourcepoolstatusrequest_controller_request_processing_duration_seconds_count{driver_name="gpu.example.com"} 1`,
	} {
		if !strings.Contains(string(all), line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

// TestResourcePoolStatusWaits asks for a pool whose second slice is missing: the answer comes with the slice. A
// request without an answer is deleted after a day.
func TestResourcePoolStatusWaits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1), minikcmtest.WithResourcePoolStatus())
	slices, requests := c.Client().ResourceV1().ResourceSlices(), c.Client().ResourceV1alpha3().ResourcePoolStatusRequests()
	for _, pool := range []string{"rack", "never"} {
		create(t, slices.Create, fmt.Sprintf(`
metadata: {name: counters-of-%[1]s}
spec:
  driver: gpu.example.com
  pool: {name: %[1]s, generation: 1, resourceSliceCount: 2}
  allNodes: true
  sharedCounters: [{name: gpu, counters: {memory: {value: 80Gi}}}]`, pool))
		create(t, requests.Create, fmt.Sprintf("{metadata: {name: %[1]s}, spec: {driver: gpu.example.com, poolName: %[1]s}}", pool))
	}
	if err := c.Advance(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	if r, err := requests.Get(ctx, "rack", metav1.GetOptions{}); err != nil || r.Status != nil {
		t.Fatalf("%v, %v", r, err)
	}
	create(t, slices.Create, `
metadata: {name: devices}
spec:
  driver: gpu.example.com
  pool: {name: rack, generation: 1, resourceSliceCount: 2}
  allNodes: true
  partitionTypeAttribute: gpu.example.com/profile
  devices:
  - {name: whole, attributes: {profile: {string: Full}}, consumesCounters: [{counterSet: gpu, counters: {memory: {value: 80Gi}}}]}
  - {name: first, attributes: {profile: {string: Half}}, consumesCounters: [{counterSet: gpu, counters: {memory: {value: 40Gi}}}]}
  - {name: second, attributes: {profile: {string: Half}}, consumesCounters: [{counterSet: gpu, counters: {memory: {value: 40Gi}}}]}
`)
	eventuallyAnswered(c, "rack", "rack: 3 = 0 + 3 + 0, Full 1, Half 2")
	eventuallyDeleted(t, c, "never", 22*time.Hour+50*time.Minute, 20*time.Minute)
}

// TestNoResourcePoolStatus checks that the kind and the attribute of its partitions are not there without the gates.
func TestNoResourcePoolStatus(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(1))
	if _, err := c.Client().ResourceV1alpha3().ResourcePoolStatusRequests().List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a list: %v", err)
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "d", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
		PartitionTypeAttribute: ptr.To(resourcev1.FullyQualifiedName("d/profile")),
	}}
	created, err := c.Client().ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	if err != nil || created.Spec.PartitionTypeAttribute != nil {
		t.Errorf("%v, %v", created, err)
	}
}

// create creates an object that is written in YAML.
func create[T any](t *testing.T, with func(context.Context, *T, metav1.CreateOptions) (*T, error), text string) {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	if _, err := with(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// eventuallyAnswered waits until a request has an answer, written as pool on node: devices = allocated + available +
// unavailable, and the partitions that are allocatable.
func eventuallyAnswered(c *minikcmtest.Cluster, name, want string) (answered *resourcev1alpha3.ResourcePoolStatusRequest) {
	c.Eventually("an answer", func(ctx context.Context, client kubernetes.Interface) error {
		r, err := client.ResourceV1alpha3().ResourcePoolStatusRequests().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if r.Status == nil {
			return errors.New("there is none")
		}
		var pools []string
		for _, p := range r.Status.Pools {
			text := p.PoolName
			if p.NodeName != nil {
				text += " on " + *p.NodeName
			}
			text += fmt.Sprintf(": %d = %d + %d + %d", *p.TotalDevices, *p.AllocatedDevices, *p.AvailableDevices, *p.UnavailableDevices)
			for _, partition := range p.PartitionSummary {
				text += fmt.Sprintf(", %s %d", partition.Type, *partition.Allocatable)
			}
			pools = append(pools, text)
		}
		if got := strings.Join(pools, "; "); got != want {
			return errors.New("it is " + got)
		}
		answered = r
		return nil
	})
	return answered
}

// eventuallyDeleted checks that a request is there after a time, and not after another one.
func eventuallyDeleted(t *testing.T, c *minikcmtest.Cluster, name string, there, gone time.Duration) {
	t.Helper()
	requests := c.Client().ResourceV1alpha3().ResourcePoolStatusRequests()
	for _, step := range []struct {
		after time.Duration
		there bool
	}{{there, true}, {gone, false}} {
		if err := c.Advance(t.Context(), step.after); err != nil {
			t.Fatal(err)
		}
		_, err := requests.Get(t.Context(), name, metav1.GetOptions{})
		if there := err == nil; there != step.there || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%v later, %s is there: %v, %v", step.after, name, there, err)
		}
	}
}
