package plugins

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// volumeCase describes the claims of a pod and the volumes that are free.
type volumeCase struct {
	claims []Claim
	free   []*corev1.PersistentVolume
	// want is the node and its plan, or the reasons against all.
	want string
}

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func pvc(name, size string, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	class := "late"
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{}}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: storage(size)},
	}}
	for _, change := range changes {
		change(c)
	}
	return c
}

func pvcBound(c *corev1.PersistentVolumeClaim) {
	c.Spec.VolumeName, c.Annotations["pv.kubernetes.io/bind-completed"] = "v", "yes"
}

func ownedBy(pod string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		controller := true
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID("uid-" + pod), Controller: &controller}}
	}
}

func pv(name, size string, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: "late", Capacity: storage(size),
	}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
	for _, change := range changes {
		change(v)
	}
	return v
}

func onlyOn(node string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}}}}
	}
}

func late(provisioner string, zones ...string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: provisioner, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones}}}}
	}
	return class
}

func volumeCases() map[string]volumeCase {
	claim := func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, class *storagev1.StorageClass) Claim {
		return Claim{PodClaim: framework.PodClaim{Name: "c"}, Object: c, Volume: v, Class: class}
	}
	all := func(reason string) string {
		return "0/2 nodes are available: " + reason + ". preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	}
	selected := func(node string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Annotations["volume.kubernetes.io/selected-node"] = node
		}
	}
	lost := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName, c.Status.Phase = "v", corev1.ClaimLost }
	going := func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }
	inZone := func(zone string) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) { v.Labels[corev1.LabelTopologyZone] = zone }
	}
	const missing, manual = "x.y/z", "kubernetes.io/no-provisioner"
	return map[string]volumeCase{
		"no claim":                  {[]Claim{{PodClaim: framework.PodClaim{Name: "c"}}}, nil, all(`persistentvolumeclaim "c" not found`)},
		"no ephemeral claim":        {[]Claim{{PodClaim: framework.PodClaim{Name: "c", Ephemeral: true}}}, nil, all(`waiting for ephemeral volume controller to create the persistentvolumeclaim "c"`)},
		"ephemeral of another":      {[]Claim{{PodClaim: framework.PodClaim{Name: "c", Ephemeral: true}, Object: pvc("c", "1")}}, nil, all("PVC default/c was not created for pod default/p (pod is not owner)")},
		"lost, and another missing": {[]Claim{claim(pvc("c", "1", lost), nil, nil), {PodClaim: framework.PodClaim{Name: "d"}}}, nil, all(`persistentvolumeclaim "d" not found`)},
		"lost":                      {[]Claim{claim(pvc("c", "1", lost), nil, nil)}, nil, all(`persistentvolumeclaim "c" bound to non-existent persistentvolume "v"`)},
		"being deleted":             {[]Claim{claim(pvc("c", "1", going), nil, nil)}, nil, all(`persistentvolumeclaim "c" is being deleted`)},
		"immediate":                 {[]Claim{claim(pvc("c", "1"), nil, nil)}, nil, all("pod has unbound immediate PersistentVolumeClaims")},
		"bound":                     {[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1"), nil)}, nil, "a"},
		"bound to none":             {[]Claim{claim(pvc("c", "1", pvcBound), nil, nil)}, nil, all(`persistentvolume "v" not found`)},
		"ephemeral, bound to none": {
			[]Claim{{PodClaim: framework.PodClaim{Name: "c", Ephemeral: true}, Object: pvc("c", "1", pvcBound, ownedBy("p"))}},
			nil, all("2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
		},
		"bound elsewhere":       {[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1", onlyOn("b")), nil)}, nil, "b"},
		"bound to a zone":       {[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1", inZone("other__two")), nil)}, nil, "b"},
		"bound to another zone": {[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1", inZone("three")), nil)}, nil, all("2 node(s) had no available volume zone")},
		"ephemeral, of another zone": {
			[]Claim{{PodClaim: framework.PodClaim{Name: "c", Ephemeral: true}, Object: pvc("c", "1", pvcBound, ownedBy("p")), Volume: pv("v", "1", inZone("two"))}}, nil, "a",
		},
		"bound to gone nodes":     {[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1", onlyOn("x")), nil)}, nil, all("2 node(s) didn't match PersistentVolume's node affinity")},
		"provisioned":             {[]Claim{claim(pvc("c", "1"), nil, late(missing))}, nil, "a, provision c"},
		"provisioned in a zone":   {[]Claim{claim(pvc("c", "1"), nil, late(missing, "two"))}, nil, "b, provision c"},
		"provisioned in no zone":  {[]Claim{claim(pvc("c", "1"), nil, late(missing, "three"))}, nil, all("2 node(s) didn't find available persistent volumes to bind")},
		"a node is selected":      {[]Claim{claim(pvc("c", "1", selected("b")), nil, late(missing))}, []*corev1.PersistentVolume{pv("v", "1")}, "b, provision c"},
		"a lost node is selected": {[]Claim{claim(pvc("c", "1", selected("x")), nil, late(missing))}, nil, all("2 node(s) didn't find available persistent volumes to bind")},
		"no volumes":              {[]Claim{claim(pvc("c", "2"), nil, late(manual))}, []*corev1.PersistentVolume{pv("v", "1")}, all("2 node(s) didn't find available persistent volumes to bind")},
		"local volumes":           {[]Claim{claim(pvc("c", "1"), nil, late(manual))}, []*corev1.PersistentVolume{pv("v", "2", onlyOn("b"))}, "b, bind c to v"},
		"the smallest":            {[]Claim{claim(pvc("c", "1"), nil, late(manual))}, []*corev1.PersistentVolume{pv("u", "3"), pv("v", "2")}, "a, bind c to v"},
		"two claims": {
			[]Claim{claim(pvc("c", "2"), nil, late(manual)), claim(pvc("d", "1"), nil, late(manual))},
			[]*corev1.PersistentVolume{pv("u", "2"), pv("v", "2")},
			"a, bind d to u, bind c to v",
		},
		"two claims, one volume": {
			[]Claim{claim(pvc("c", "1"), nil, late(manual)), claim(pvc("d", "1"), nil, late(manual))},
			[]*corev1.PersistentVolume{pv("v", "2")},
			all("2 node(s) didn't find available persistent volumes to bind"),
		},
		"the first of two bound ones": {
			[]Claim{
				claim(pvc("c", "1", pvcBound), pv("v", "1", onlyOn("b")), nil),
				{PodClaim: framework.PodClaim{Name: "d", Ephemeral: true}, Object: pvc("d", "1", pvcBound, ownedBy("p"))},
			},
			nil,
			all("1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
		},
		"two reasons": {
			[]Claim{claim(pvc("c", "1", pvcBound), pv("v", "1", onlyOn("a")), nil), claim(pvc("d", "1"), nil, late(manual))},
			nil,
			all("1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) didn't find available persistent volumes to bind"),
		},
	}
}

// TestVolumes decides on pods with claims on the nodes a, in zone one, and b, in zone two.
func TestVolumes(t *testing.T) {
	nodes := []*corev1.Node{st.Node("a", st.NodeLabel(corev1.LabelTopologyZone, "one")), st.Node("b", st.NodeLabel(corev1.LabelTopologyZone, "two"))}
	for name, tt := range volumeCases() {
		t.Run(name, func(t *testing.T) {
			volumes := &Volumes{Claims: tt.claims, Free: func(string) []*corev1.PersistentVolume { return tt.free }}
			in := Input{Pod: framework.NewPodInfo(st.Pod("p")), Snapshot: framework.SnapshotOf(nodes, nil), Volumes: volumes, Pick: first}
			d := Decide(in)
			got := d.Node
			if got == "" {
				d.Diagnosis.Preemption = Preempt(in, d.Diagnosis).Message
				got = d.Diagnosis.Message()
			} else {
				got = strings.Join(append([]string{got}, planText(volumes.PlanFor(in.Snapshot.Get(got).Node))...), ", ")
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func planText(plan VolumePlan) []string {
	var text []string
	for _, b := range plan.Bind {
		text = append(text, fmt.Sprintf("bind %s to %s", b.Claim.Name, b.Volume.Name))
	}
	for _, c := range plan.Provision {
		text = append(text, "provision "+c.Name)
	}
	return text
}
