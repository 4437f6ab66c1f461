package plugins

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// prioritized returns a claim with a request for the first of the alternatives a, b and c that is available.
func prioritized() *resourcev1.ResourceClaim {
	c := resourceClaim("gpu")
	request := resourcev1.DeviceRequest{Name: "r"}
	for _, name := range []string{"a", "b", "c"} {
		request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{Name: name, DeviceClassName: "gpu"})
	}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{request}
	return c
}

func allocated(requests ...string) resourcev1.AllocationResult {
	var r resourcev1.AllocationResult
	for _, name := range requests {
		r.Devices.Results = append(r.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: name})
	}
	return r
}

func TestDevicesScore(t *testing.T) {
	before := prioritized()
	before.UID = "before"
	before.Status.Allocation = &resourcev1.AllocationResult{}
	*before.Status.Allocation = allocated("r/a")
	for _, tt := range []struct {
		name   string
		claims []*resourcev1.ResourceClaim
		found  map[string]resourcev1.AllocationResult // by node
		want   []int64                                // of the nodes x and y
	}{
		{"the first alternative is better", []*resourcev1.ResourceClaim{prioritized()}, map[string]resourcev1.AllocationResult{"x": allocated("r/b"), "y": allocated("r/a")}, []int64{2 * 87, 200}},
		{"several devices count once", []*resourcev1.ResourceClaim{prioritized()}, map[string]resourcev1.AllocationResult{"x": allocated("r/c", "r/c"), "y": allocated("r/b")}, []int64{2 * 85, 200}},
		{"equal", []*resourcev1.ResourceClaim{prioritized()}, map[string]resourcev1.AllocationResult{"x": allocated("r/c"), "y": allocated("r/c")}, []int64{200, 200}},
		{"no alternatives", []*resourcev1.ResourceClaim{resourceClaim("gpu")}, map[string]resourcev1.AllocationResult{"x": allocated("r"), "y": allocated("r")}, []int64{0, 0}},
		{"with one allocated before", []*resourcev1.ResourceClaim{before, prioritized()}, map[string]resourcev1.AllocationResult{"x": allocated("r/b"), "y": allocated("r/a")}, []int64{2 * 93, 200}},
		{"all allocated before", []*resourcev1.ResourceClaim{before}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{
				Pod: framework.NewPodInfo(st.Pod("p")), Pick: first, Trace: &Trace{}, Snapshot: framework.SnapshotOf([]*corev1.Node{st.Node("x"), st.Node("y")}, nil),
				Devices: &Devices{
					Claims: tt.claims, Pending: func(types.UID) bool { return false }, HasClass: func(string) bool { return true },
					Allocate: func(node *corev1.Node, _ []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
						return []resourcev1.AllocationResult{tt.found[node.Name]}, "", nil
					},
				},
			}
			Decide(in)
			var got []int64
			for _, scores := range in.Trace.Scores {
				if scores.Plugin == DynamicResources {
					got = scores.Final
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}
