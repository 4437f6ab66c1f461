package plugins

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// resourceClaim returns a claim of a class that is allocated to the nodes named, if any.
func resourceClaim(class string, nodes ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: types.UID(class)}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}}
	if len(nodes) > 0 {
		c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: nodes}},
		}}}}
	}
	return c
}

func reservedFor(c *resourcev1.ResourceClaim, uids ...types.UID) *resourcev1.ResourceClaim {
	for _, uid := range uids {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", UID: uid})
	}
	return c
}

// TestDevices decides on a pod with a claim, on the nodes a, b and c. Only b has devices of the
// class gpu, and the class slow cannot be searched there.
func TestDevices(t *testing.T) {
	broken := errors.New("CEL runtime error")
	const never = " preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
	for name, test := range map[string]struct {
		claim   *resourcev1.ResourceClaim
		problem string
		want    string // the node, or the message
		idle    bool
	}{
		"allocatable":             {resourceClaim("gpu"), "", "b", false},
		"no devices":              {resourceClaim("tpu"), "", "0/3 nodes are available: 3 cannot allocate all claims." + never, false},
		"a reason":                {resourceClaim("slow"), "", "0/3 nodes are available: 1 too slow, 2 cannot allocate all claims." + never, false},
		"no class":                {resourceClaim("npu"), "", "0/3 nodes are available: request r: device class npu does not exist." + never, false},
		"being allocated":         {resourceClaim("busy"), "", "0/3 nodes are available: resource claim default/c is in the process of being allocated." + never, false},
		"not there":               {resourceClaim("gpu"), "gone", "0/3 nodes are available: gone." + never, false},
		"allocated":               {resourceClaim("tpu", "c"), "", "c", false},
		"elsewhere":               {resourceClaim("tpu", "x"), "", "0/3 nodes are available: 3 resourceclaim not available on the node. deallocation of ResourceClaim completed," + never, true},
		"elsewhere, its own":      {reservedFor(resourceClaim("tpu", "x"), "uid-p"), "", "0/3 nodes are available: 3 resourceclaim not available on the node. deallocation of ResourceClaim completed," + never, true},
		"elsewhere, of others":    {reservedFor(resourceClaim("tpu", "x"), "uid-q"), "", "0/3 nodes are available: 3 resourceclaim not available on the node." + never, false},
		"an expression is broken": {resourceClaim("broken"), "", `running "DynamicResources" filter plugin: CEL runtime error`, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := framework.NewPodInfo(st.Pod("p"))
			in := Input{Pod: pod, Pick: func(int) int { return 0 }, Devices: &Devices{
				Claims: []*resourcev1.ResourceClaim{test.claim}, Problem: test.problem,
				Pending:  func(uid types.UID) bool { return uid == "busy" },
				HasClass: func(name string) bool { return name != "npu" },
				Allocate: func(node *corev1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
					switch class := claims[0].Spec.Devices.Requests[0].Exactly.DeviceClassName; {
					case class == "broken":
						return nil, "", broken
					case node.Name == "b" && class == "slow":
						return nil, "too slow", nil
					case node.Name == "b" && class == "gpu":
						return make([]resourcev1.AllocationResult, 1), "", nil
					}
					return nil, "", nil
				},
			}}
			in.Snapshot = framework.SnapshotOf([]*corev1.Node{st.Node("a"), st.Node("b"), st.Node("c")}, nil)
			d := Decide(in)
			got, idle := d.Node, false
			switch {
			case d.Err != nil:
				got = d.Err.Error()
			case d.Node == "":
				idle = in.Devices.Idle(pod.Pod, d.Diagnosis) != nil
				d.Diagnosis.Preemption = Preempt(in, d.Diagnosis).Message
				got = d.Diagnosis.Message()
				if some, only := d.Diagnosis.ByDevices(); !some || !only {
					t.Errorf("some %v, only %v", some, only)
				}
			default:
				if all := in.Devices.On(d.Node); len(all) != 1 || (all[0].Result != nil) != (test.claim.Status.Allocation == nil) {
					t.Errorf("%+v", all)
				}
			}
			if got != test.want || idle != test.idle {
				t.Errorf("%q, %v; want %q, %v", got, idle, test.want, test.idle)
			}
		})
	}
}
