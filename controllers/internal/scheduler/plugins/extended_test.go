package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// Nodes that leave the same resources to DynamicResources get the same claim.
func TestExtendedOn(t *testing.T) {
	const gpu, nic = "example.com/gpu", "example.com/nic"
	pod := framework.NewPodInfo(st.Pod("p", st.Requests(gpu, "1", nic, "1")))
	e := &Extended{Pod: pod, Classes: Backed{gpu: "gpu", nic: "nic"}}
	plain, plugin := framework.NewNodeInfo(st.Node("a")), framework.NewNodeInfo(st.Node("b", st.Allocatable(nic, "1")))
	first, _ := e.on(plain)
	same, _ := e.on(framework.NewNodeInfo(st.Node("c")))
	other, _ := e.on(plugin)
	if first != same || len(first.claim.Spec.Devices.Requests) != 2 || len(other.claim.Spec.Devices.Requests) != 1 {
		t.Errorf("%+v, %+v, %+v", first, same, other)
	}
	for _, tt := range []struct {
		nodes []*framework.NodeInfo
		want  bool
	}{{[]*framework.NodeInfo{plain}, true}, {[]*framework.NodeInfo{plain, plugin}, true}, {[]*framework.NodeInfo{framework.NewNodeInfo(st.Node("d", st.Allocatable(nic, "1", gpu, "1")))}, false}} {
		if got := e.needsDevice(framework.NewSnapshot(tt.nodes)); got != tt.want {
			t.Errorf("a device is needed on all of %d nodes: %t", len(tt.nodes), got)
		}
	}
}

// TestExtended decides on a pod with two GPUs, on the nodes a, b and c: b has two devices, c has a device
// plugin.
func TestExtended(t *testing.T) {
	const never = " preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
	const gpu = "example.com/gpu"
	left := &resourcev1.ResourceClaim{}
	for name, test := range map[string]struct {
		requests []string
		offered  string // what c offers
		classes  Backed
		left     bool
		user     *resourcev1.ResourceClaim
		want     string // the node, or the message
		claims   int    // that are allocated
	}{
		"devices":                {requests: []string{gpu, "2"}, offered: "0", classes: Backed{gpu: "gpu"}, want: "b", claims: 1},
		"too many":               {requests: []string{gpu, "3"}, offered: "0", classes: Backed{gpu: "gpu"}, want: "0/3 nodes are available: 3 cannot allocate all claims." + never},
		"a device plugin":        {requests: []string{gpu, "3"}, offered: "3", classes: Backed{gpu: "gpu"}, want: "c"},
		"too few of the plugin":  {requests: []string{gpu, "3"}, offered: "1", classes: Backed{gpu: "gpu"}, want: "0/3 nodes are available: 1 Insufficient example.com/gpu, 2 cannot allocate all claims." + never},
		"no class":               {requests: []string{gpu, "2"}, offered: "0", want: "0/3 nodes are available: 3 Insufficient example.com/gpu." + never},
		"the implicit name":      {requests: []string{"deviceclass.resource.kubernetes.io/gpu", "1"}, offered: "0", classes: Backed{"deviceclass.resource.kubernetes.io/gpu": "gpu"}, want: "b", claims: 1},
		"a resource of no class": {requests: []string{gpu, "1", "example.com/tpu", "1"}, offered: "0", classes: Backed{gpu: "gpu"}, want: "0/3 nodes are available: 3 Insufficient example.com/tpu." + never},
		"a claim is left":        {requests: []string{gpu, "1"}, offered: "0", classes: Backed{gpu: "gpu"}, left: true, want: "0/3 nodes are available: 3 cannot schedule extended resource claim. deletion of ResourceClaim completed," + never},
		"with a claim":           {requests: []string{gpu, "1"}, offered: "0", classes: Backed{gpu: "gpu"}, user: resourceClaim("gpu"), want: "b", claims: 2},
		"a claim and the plugin": {requests: []string{gpu, "3"}, offered: "3", classes: Backed{gpu: "gpu"}, user: resourceClaim("gpu"), want: "c", claims: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := framework.NewPodInfo(st.Pod("p", st.Requests(test.requests...)))
			devices := &Devices{
				Pending: func(types.UID) bool { return false }, HasClass: func(string) bool { return true },
				Allocate: func(node *corev1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
					var wanted int64
					for _, claim := range claims {
						for _, r := range claim.Spec.Devices.Requests {
							wanted += max(r.Exactly.Count, 1)
						}
					}
					if node.Name == "b" && wanted <= 2 || node.Name == "c" && wanted == 1 {
						return make([]resourcev1.AllocationResult, len(claims)), "", nil
					}
					return nil, "", nil
				},
			}
			if test.classes != nil {
				devices.Extended = &Extended{Pod: pod, Classes: test.classes}
				if test.left {
					devices.Extended.Left = left
				}
			}
			if test.user != nil {
				devices.Claims = append(devices.Claims, test.user)
			}
			in := Input{Pod: pod, Pick: func(int) int { return 0 }, Devices: devices}
			in.Snapshot = framework.SnapshotOf([]*corev1.Node{st.Node("a"), st.Node("b", st.Allocatable("example.com/other", "1")), st.Node("c", st.Allocatable(gpu, test.offered))}, nil)
			d := Decide(in)
			got := d.Node
			if got == "" {
				if idle := devices.Idle(pod.Pod, d.Diagnosis); (idle == left) != test.left {
					t.Errorf("idle %v", idle)
				}
				d.Diagnosis.Preemption = Preempt(in, d.Diagnosis).Message
				got = d.Diagnosis.Message()
			} else {
				checkAllocations(t, devices.On(got), test.claims)
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func checkAllocations(t *testing.T, all []DeviceAllocation, want int) {
	t.Helper()
	allocated := 0
	for i, a := range all {
		if a.Result != nil {
			allocated++
		}
		if (a.Mappings != nil) != (a.Claim.Name == extendedClaimName) || a.Mappings != nil && i != len(all)-1 {
			t.Errorf("%+v at %d", a, i)
		}
	}
	if allocated != want {
		t.Errorf("%d claims are allocated, want %d", allocated, want)
	}
}

// TestExtendedClaim checks the claim's metadata.
func TestExtendedClaim(t *testing.T) {
	pod := st.Pod("p")
	claim := newExtendedClaim(pod, nil)
	owner := claim.OwnerReferences[0]
	if claim.GenerateName != "p-extended-resources-" || claim.Annotations["resource.kubernetes.io/extended-resource-claim"] != "true" ||
		owner.APIVersion != "v1" || owner.Kind != "Pod" || owner.Name != "p" || owner.UID != pod.UID || !*owner.Controller || owner.BlockOwnerDeletion != nil {
		t.Errorf("%+v", claim.ObjectMeta)
	}
	if !IsExtendedClaim(claim, pod) || IsExtendedClaim(claim, st.Pod("q")) {
		t.Error("the claim is not the pod's alone")
	}
	claim.Annotations = nil
	if IsExtendedClaim(claim, pod) {
		t.Error("a claim without the annotation is one for extended resources")
	}
}
