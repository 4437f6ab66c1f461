package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func using(claims ...string) st.PodOption {
	return func(p *corev1.Pod) {
		for _, c := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
			}})
		}
	}
}

// boundClaim returns a claim that is bound to a volume that any node can use.
func boundClaim(name string, mode corev1.PersistentVolumeAccessMode) Claim {
	return Claim{
		PodClaim: framework.PodClaim{Name: name},
		Object: &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{storagehelpers.AnnBindCompleted: "yes"}},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: []corev1.PersistentVolumeAccessMode{mode}},
		},
		Volume: &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}},
	}
}

func TestExclusiveClaims(t *testing.T) {
	message := "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod."
	tests := []struct {
		name      string
		on        []*corev1.Pod
		mode      corev1.PersistentVolumeAccessMode
		priority  int32
		message   string
		preempted string
	}{
		{name: "nobody uses it", on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), using("other"))}, mode: corev1.ReadWriteOncePod},
		{name: "used by another pod", on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), using("data"))}, mode: corev1.ReadWriteOncePod, message: message},
		{name: "a less important one", on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), using("data"))}, mode: corev1.ReadWriteOncePod, priority: 5, message: message, preempted: "node-0"},
		{name: "another namespace's", on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), st.InNamespace("other"), using("data"))}, mode: corev1.ReadWriteOncePod},
		{name: "another access mode", on: []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), using("data"))}, mode: corev1.ReadWriteOnce},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{
				Pod: framework.NewPodInfo(st.Pod("p", using("data"), st.Priority(tt.priority))), Snapshot: framework.SnapshotOf(st.Nodes(2), tt.on), Pick: first,
				Volumes: &Volumes{Claims: []Claim{boundClaim("data", tt.mode)}},
			}
			d := Decide(in)
			if (d.Node == "") != (tt.message != "") || d.Diagnosis != nil && d.Diagnosis.Message() != tt.message {
				t.Fatalf("node %q, %+v", d.Node, d.Diagnosis)
			}
			if d.Node == "" {
				if p := Preempt(in, d.Diagnosis); p.Node != tt.preempted {
					t.Errorf("preempted on %q (%s), want %q", p.Node, p.Message, tt.preempted)
				}
			}
		})
	}
}

func TestVolumeLimits(t *testing.T) {
	csi := func(claim types.NamespacedName) CSIVolume {
		switch claim.Name {
		case "a", "b", "c":
			return CSIVolume{"csi", claim.Name}
		case "same as a":
			return CSIVolume{"csi", "a"}
		}
		return CSIVolume{}
	}
	for _, tt := range []struct {
		name   string
		limit  int32
		on     []string
		other  []string // attached
		wanted []string
		fits   bool
	}{
		{"no limit", -1, []string{"a"}, nil, []string{"b"}, true},
		{"room", 2, []string{"a"}, nil, []string{"b"}, true},
		{"full", 1, []string{"a"}, nil, []string{"b"}, false},
		{"the same volume", 1, []string{"a"}, nil, []string{"same as a"}, true},
		{"of other drivers", 1, []string{"a"}, nil, []string{"nfs"}, true},
		{"two at once", 1, nil, nil, []string{"a", "b"}, false},
		{"none at all", 0, nil, nil, []string{"a"}, false},
		{"attached and not used", 2, []string{"a"}, []string{"c"}, []string{"b"}, false},
		{"attached and used", 2, []string{"a"}, []string{"a", "a"}, []string{"b"}, true},
		{"attached, of other drivers", 1, nil, []string{"nfs"}, []string{"b"}, true},
		{"attached and wanted", 1, nil, []string{"a"}, []string{"a"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attached := func(string) (all []CSIVolume) {
				for _, name := range tt.other {
					all = append(all, csi(types.NamespacedName{Name: name}))
				}
				return all
			}
			volumes := &Volumes{CSI: csi, Attached: attached, Limits: func(string) map[string]int32 {
				if tt.limit < 0 {
					return nil
				}
				return map[string]int32{"csi": tt.limit}
			}}
			for _, name := range tt.wanted {
				volumes.Claims = append(volumes.Claims, boundClaim(name, corev1.ReadWriteOnce))
			}
			d := Decide(Input{
				Pod: framework.NewPodInfo(st.Pod("p", using(tt.wanted...))), Pick: first, Volumes: volumes,
				Snapshot: framework.SnapshotOf(st.Nodes(1), []*corev1.Pod{st.Pod("o", st.OnNode("node-0"), using(tt.on...))}),
			})
			if (d.Node != "") != tt.fits {
				t.Errorf("node %q, want it to fit: %v", d.Node, tt.fits)
			}
			if !tt.fits && d.Diagnosis.Message() != "0/1 nodes are available: 1 node(s) exceed max volume count." {
				t.Error(d.Diagnosis.Message())
			}
		})
	}
}

// TestRequiredDrivers checks that a pod whose volume's driver asks for it only fits on nodes where the driver is installed.
func TestRequiredDrivers(t *testing.T) {
	for _, installed := range []string{"node-1", "node-7"} {
		d := Decide(Input{
			Pod: framework.NewPodInfo(st.Pod("p", using("a"))), Pick: first, Snapshot: framework.SnapshotOf(st.Nodes(2), nil),
			Volumes: &Volumes{
				Claims: []Claim{boundClaim("a", corev1.ReadWriteOnce)}, CSI: func(types.NamespacedName) CSIVolume { return CSIVolume{"csi", "a"} },
				Limits: func(string) map[string]int32 { return nil }, Required: []string{"csi"}, Installed: func(node, driver string) bool { return node == installed && driver == "csi" },
			},
		})
		switch {
		case installed == "node-1" && d.Node != installed:
			t.Errorf("on %q: %+v", d.Node, d.Diagnosis)
		case installed == "node-7" && (d.Node != "" || d.Diagnosis.Message() != "0/2 nodes are available: 2 csi CSI driver is not installed on the node."):
			t.Errorf("on %q: %s", d.Node, d.Diagnosis.Message())
		}
	}
}

func TestStorageCapacity(t *testing.T) {
	capacity := func(size, most, node string) *storagev1.CSIStorageCapacity {
		c := &storagev1.CSIStorageCapacity{Capacity: ptr.To(resource.MustParse(size))}
		if most != "" {
			c.MaximumVolumeSize = ptr.To(resource.MustParse(most))
		}
		if node != "" {
			c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: node}}
		}
		return c
	}
	for _, tt := range []struct {
		name      string
		published []*storagev1.CSIStorageCapacity
		unchecked bool
		fits      bool
	}{
		{"enough", []*storagev1.CSIStorageCapacity{capacity("10Gi", "", "node-0")}, false, true},
		{"not enough", []*storagev1.CSIStorageCapacity{capacity("1Gi", "", "node-0")}, false, false},
		{"no volume is so large", []*storagev1.CSIStorageCapacity{capacity("100Gi", "1Gi", "node-0")}, false, false},
		{"elsewhere", []*storagev1.CSIStorageCapacity{capacity("10Gi", "", "node-1")}, false, false},
		{"nowhere", []*storagev1.CSIStorageCapacity{capacity("10Gi", "", "")}, false, false},
		{"none", nil, false, false},
		{"not compared", nil, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wait := storagev1.VolumeBindingWaitForFirstConsumer
			claim := Claim{PodClaim: framework.PodClaim{Name: "data"}, Class: &storagev1.StorageClass{Provisioner: "csi", VolumeBindingMode: &wait}, Object: &corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
				Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: st.Quantities("storage", "5Gi")}},
			}}
			d := Decide(Input{
				Pod: framework.NewPodInfo(st.Pod("p", using("data"))), Pick: first, Snapshot: framework.SnapshotOf(st.Nodes(1), nil),
				Volumes: &Volumes{
					Claims: []Claim{claim}, Free: func(string) []*corev1.PersistentVolume { return nil },
					Capacities: func(*storagev1.StorageClass) ([]*storagev1.CSIStorageCapacity, bool) {
						return tt.published, !tt.unchecked
					},
				},
			})
			if (d.Node != "") != tt.fits {
				t.Errorf("node %q, want it to fit: %v", d.Node, tt.fits)
			}
			if !tt.fits && d.Diagnosis.Message() != "0/1 nodes are available: 1 node(s) did not have enough free storage." {
				t.Error(d.Diagnosis.Message())
			}
		})
	}
}

// A nominated pod that uses the claim keeps others away only if a pod on a node uses it, too: otherwise
// kube-scheduler's PreFilter skips the plugin.
func TestExclusiveClaimsOfNominatedPods(t *testing.T) {
	for _, on := range []bool{false, true} {
		var pods []*corev1.Pod
		if on {
			pods = append(pods, st.Pod("o", st.OnNode("node-1"), using("data")))
		}
		d := Decide(Input{
			Pod: framework.NewPodInfo(st.Pod("p", using("data"))), Snapshot: framework.SnapshotOf(st.Nodes(2), pods), Pick: first,
			Nominated: map[string][]*framework.PodInfo{"node-0": {framework.NewPodInfo(st.Pod("n", using("data"), st.Priority(5)))}},
			Volumes:   &Volumes{Claims: []Claim{boundClaim("data", corev1.ReadWriteOncePod)}},
		})
		if (d.Node == "") != on {
			t.Errorf("with a pod on a node %v: %q", on, d.Node)
		}
	}
}
