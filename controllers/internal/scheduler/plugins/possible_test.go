package plugins

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// selectors draws parts of clusters and pods of few labels and values.
type selectors struct{ t *rapid.T }

func (s selectors) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(s.t, label) }

func (s selectors) key() string   { return []string{"zone", "kind", "metadata.name"}[s.draw(2, "key")] }
func (s selectors) value() string { return fmt.Sprint(s.draw(4, "value")) }

func (s selectors) requirement(key string) corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn}
	if s.draw(4, "not") == 0 {
		r.Operator = corev1.NodeSelectorOpNotIn
	}
	for range 1 + s.draw(2, "values") {
		r.Values = append(r.Values, s.value())
	}
	return r
}

func (s selectors) selector() *corev1.NodeSelector {
	if s.draw(3, "no selector") == 0 {
		return nil
	}
	selector := &corev1.NodeSelector{}
	for range 1 + s.draw(2, "terms") {
		var term corev1.NodeSelectorTerm
		for range s.draw(3, "expressions") {
			term.MatchExpressions = append(term.MatchExpressions, s.requirement(s.key()))
		}
		if s.draw(4, "named") == 0 {
			r := s.requirement(metav1.ObjectNameField)
			r.Values = []string{fmt.Sprint("n", s.draw(150, "name"))}
			term.MatchFields = append(term.MatchFields, r)
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return selector
}

func (s selectors) nodes() []*corev1.Node {
	nodes := make([]*corev1.Node, 101+s.draw(50, "nodes"))
	for i := range nodes {
		nodes[i] = st.Node(fmt.Sprint("n", i))
		if i%3 > 0 {
			nodes[i].Labels["zone"], nodes[i].Labels[corev1.LabelTopologyZone] = fmt.Sprint(i%4), fmt.Sprint(i%2)
		}
		if i%5 > 0 {
			nodes[i].Labels["kind"] = fmt.Sprint(i % 7)
		}
		nodes[i].Spec.Unschedulable = i%6 == 0
	}
	return nodes
}

func (s selectors) pod() *corev1.Pod {
	pod := st.Pod("p")
	if s.draw(2, "node selector") == 0 {
		pod.Spec.NodeSelector = map[string]string{s.key(): s.value()}
	}
	if required := s.selector(); required != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	return pod
}

func (s selectors) volumes() *Volumes {
	v := &Volumes{Free: func(string) []*corev1.PersistentVolume { return nil }}
	for i := range s.draw(3, "claims") {
		c := Claim{PodClaim: framework.PodClaim{Name: fmt.Sprint("c", i)}, Object: pvc(fmt.Sprint("c", i), "1", pvcBound), Volume: pv("v", "1")}
		if required := s.selector(); required != nil {
			c.Volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required}
		}
		if s.draw(6, "zoned") == 0 {
			c.Volume.Labels = map[string]string{corev1.LabelTopologyZone: "1"}
		}
		v.Claims = append(v.Claims, c)
	}
	if len(v.Claims) == 0 {
		return nil
	}
	return v
}

// devices has claims with and without an allocation. Some of the first nodes have a device.
func (s selectors) devices() *Devices {
	if s.draw(2, "devices") == 0 {
		return nil
	}
	with := s.draw(100, "nodes with devices")
	has := func(i int) bool { return i < with && i%2 == 0 }
	d := &Devices{
		Pending: func(types.UID) bool { return false }, HasClass: func(string) bool { return true },
		Allocate: func(node *corev1.Node, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, string, error) {
			var i int
			if _, err := fmt.Sscanf(node.Name, "n%d", &i); err != nil || !has(i) {
				return nil, "", err
			}
			return make([]resourcev1.AllocationResult, len(claims)), "", nil
		},
	}
	if s.draw(3, "shared devices") > 0 {
		d.Published = func(snapshot *framework.Snapshot) framework.NodeSet {
			set := framework.NewNodeSet(snapshot.Len())
			for i := range 101 {
				if index, ok := snapshot.Index(fmt.Sprint("n", i)); ok && has(i) {
					set.Add(index)
				}
			}
			return set
		}
	}
	for range 1 + s.draw(2, "resource claims") {
		claim := &resourcev1.ResourceClaim{}
		if s.draw(2, "allocated") == 0 {
			claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: s.selector()}
			if selector := claim.Status.Allocation.NodeSelector; selector != nil && len(selector.NodeSelectorTerms) > 1 {
				selector.NodeSelectorTerms = selector.NodeSelectorTerms[:1]
			}
		} else {
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			}}}
		}
		d.Claims = append(d.Claims, claim)
	}
	return d
}

// TestPossible compares decisions that try the possible nodes with traced ones, which try all nodes.
func TestPossible(t *testing.T) {
	fewer, none := 0, 0 // decisions on fewer nodes, and without a node
	rapid.Check(t, func(t *rapid.T) {
		s := selectors{t}
		snapshot := framework.SnapshotOf(s.nodes(), nil)
		volumes, devices := s.volumes(), s.devices()
		in := Input{Pod: framework.NewPodInfo(s.pod()), Snapshot: snapshot, Start: 42, Pick: first, Volumes: volumes, Devices: devices}
		traced := in
		if volumes != nil {
			copied := *volumes
			traced.Volumes = &copied
		}
		if devices != nil {
			copied := *devices
			traced.Devices = &copied
		}
		traced.Trace = &Trace{}
		search := Filter(in)
		if search.possible != nil {
			fewer++
		}
		got, want := search.Decide(nil), Decide(traced)
		if got.Node != want.Node || got.Next != want.Next || (got.Err == nil) != (want.Err == nil) {
			t.Fatalf("node %q, next %d, error %v; want %q, %d, %v", got.Node, got.Next, got.Err, want.Node, want.Next, want.Err)
		}
		if want.Diagnosis == nil {
			return
		}
		none++
		if got, want := got.Diagnosis.Message(), want.Diagnosis.Message(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
	if fewer == 0 || none == 0 {
		t.Errorf("%d decisions on possible nodes, %d without a node", fewer, none)
	}
}

// An extender that excludes all feasible nodes gets the reasons against all others that were looked at.
func TestPossibleExcluded(t *testing.T) {
	var nodes []*corev1.Node
	for i := range 4 {
		nodes = append(nodes, st.Node(fmt.Sprint("n", i), st.NodeLabel("kind", fmt.Sprint(i%2))))
	}
	pod := st.Pod("p")
	pod.Spec.NodeSelector = map[string]string{"kind": "1"}
	search := Filter(Input{Pod: framework.NewPodInfo(pod), Snapshot: framework.SnapshotOf(nodes, nil), Pick: first})
	if search.possible == nil {
		t.Fatal("all nodes are tried")
	}
	for _, n := range search.Feasible() {
		search.Exclude(n.Name(), "no", false)
	}
	d := search.Decide(nil)
	if got, want := d.Diagnosis.Message(), "0/4 nodes are available: 2 no, 2 node(s) didn't match Pod's node affinity/selector."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
