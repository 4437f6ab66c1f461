package plugins

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// onNode restricts a capacity to a node.
func onNode(name, size string) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{
		Capacity: ptr.To(resource.MustParse(size)), NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: name}},
	}
}

// TestVolumesScore decides on pods with claims on the nodes a and b.
func TestVolumesScore(t *testing.T) {
	const csi, manual = "x.y/z", "kubernetes.io/no-provisioner"
	claim := func(class *storagev1.StorageClass, name, size string, changes ...func(*corev1.PersistentVolumeClaim)) Claim {
		return Claim{PodClaim: framework.PodClaim{Name: name}, Object: pvc(name, size, changes...), Class: class}
	}
	other := late(csi)
	other.Name = "other"
	ofOther := func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("other") }
	for _, tt := range []struct {
		name       string
		claims     []Claim
		free       []*corev1.PersistentVolume
		capacities []*storagev1.CSIStorageCapacity
		shape      []ShapePoint
		want       []int64 // of a and b
	}{
		{"the larger volume", []Claim{claim(late(manual), "c", "1")}, []*corev1.PersistentVolume{pv("u", "2", onlyOn("a")), pv("v", "4", onlyOn("b"))}, nil, nil, []int64{50, 75}},
		{"the smaller one, by the shape", []Claim{claim(late(manual), "c", "1")}, []*corev1.PersistentVolume{pv("u", "2", onlyOn("a")), pv("v", "4", onlyOn("b"))}, nil, []ShapePoint{{0, 0}, {100, 100}}, []int64{50, 25}},
		{
			"claims of one class together",
			[]Claim{claim(late(manual), "c", "1"), claim(late(manual), "d", "2")},
			[]*corev1.PersistentVolume{pv("u", "2"), pv("v", "4")},
			nil, nil,
			[]int64{50, 50},
		},
		{"the larger capacity", []Claim{claim(late(csi), "c", "1")}, nil, []*storagev1.CSIStorageCapacity{onNode("a", "10"), onNode("b", "4")}, nil, []int64{90, 75}},
		{"a capacity for several claims", []Claim{claim(late(csi), "c", "1"), claim(late(csi), "d", "2")}, nil, []*storagev1.CSIStorageCapacity{onNode("a", "10"), onNode("b", "4")}, nil, []int64{70, 25}},
		{"more than there is", []Claim{claim(late(csi), "c", "8"), claim(late(csi), "d", "8")}, nil, []*storagev1.CSIStorageCapacity{onNode("a", "10"), onNode("b", "100")}, nil, []int64{0, 84}},
		{
			"the mean of classes",
			[]Claim{claim(late(csi), "c", "1"), claim(other, "d", "4", ofOther)},
			nil,
			[]*storagev1.CSIStorageCapacity{onNode("a", "10"), onNode("b", "5")},
			nil,
			[]int64{75, 50},
		},
		{
			"volumes count before capacities",
			[]Claim{claim(late(csi), "c", "1"), claim(other, "d", "4", ofOther)},
			[]*corev1.PersistentVolume{pv("v", "2")},
			[]*storagev1.CSIStorageCapacity{onNode("a", "10"), onNode("b", "5")},
			nil,
			[]int64{50, 50},
		},
		{"unknown capacity", []Claim{claim(late(csi), "c", "1")}, nil, nil, nil, []int64{0, 0}},
		{"bound", []Claim{{Object: pvc("c", "1", pvcBound), Volume: pv("v", "1")}}, nil, nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := DefaultSpec()
			if tt.shape != nil {
				spec.VolumeShape = tt.shape
			}
			profile, err := NewProfile(spec)
			if err != nil {
				t.Fatal(err)
			}
			in := Input{
				Pod: framework.NewPodInfo(st.Pod("p")), Pick: first, Trace: &Trace{}, Profile: profile,
				Snapshot: framework.SnapshotOf([]*corev1.Node{st.Node("a"), st.Node("b")}, nil),
				Volumes: &Volumes{
					Claims: tt.claims,
					Free: func(class string) []*corev1.PersistentVolume {
						if class != "late" {
							return nil
						}
						return tt.free
					},
					Capacities: func(*storagev1.StorageClass) ([]*storagev1.CSIStorageCapacity, bool) {
						return tt.capacities, tt.capacities != nil
					},
				},
			}
			if d := Decide(in); d.Node == "" {
				t.Fatal(d.Diagnosis.Message())
			}
			var got []int64
			for _, scores := range in.Trace.Scores {
				if scores.Plugin == VolumeBinding {
					got = scores.Final
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

// Of several claims, one with another selected node decides before the capacity for the others is compared.
func TestSelectedNodeBeforeCapacity(t *testing.T) {
	elsewhere := func(c *corev1.PersistentVolumeClaim) {
		c.Annotations["volume.kubernetes.io/selected-node"] = "b"
	}
	v := &Volumes{
		Claims: []Claim{{Object: pvc("c", "5"), Class: late("x.y/z")}, {Object: pvc("d", "9", elsewhere), Class: late("x.y/z")}},
		Free:   func(string) []*corev1.PersistentVolume { return nil },
		Capacities: func(*storagev1.StorageClass) ([]*storagev1.CSIStorageCapacity, bool) {
			return []*storagev1.CSIStorageCapacity{onNode("a", "1")}, true
		},
	}
	if _, r := v.plan(st.Node("a")); r == nil || !reflect.DeepEqual(r.reasons, []string{reasonNoVolumes}) {
		t.Errorf("%+v", r)
	}
}
