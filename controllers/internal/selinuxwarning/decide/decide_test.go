package decide

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func level(l string) *corev1.SELinuxOptions { return &corev1.SELinuxOptions{Level: l} }

// pod returns a pod whose containers mount the volumes data (of the claim), scratch and own (of an
// ephemeral claim) with SELinux options of their own; nil: with the pod's.
func pod(ofPod *corev1.SELinuxOptions, policy corev1.PodSELinuxChangePolicy, containers ...*corev1.SELinuxOptions) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{SELinuxOptions: ofPod}
	if policy != "" {
		p.Spec.SecurityContext.SELinuxChangePolicy = &policy
	}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "unused", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
	}
	for i, options := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), SecurityContext: &corev1.SecurityContext{SELinuxOptions: options},
			VolumeMounts: []corev1.VolumeMount{{Name: "data"}, {Name: "scratch"}, {Name: "own"}},
		})
	}
	return p
}

func TestUses(t *testing.T) {
	csi := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}}}
	iscsi := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "i"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}}}
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		volumes map[string]*corev1.PersistentVolume
		without bool
		want    string
	}{
		"of the pod":         {pod(level("s0:c1"), "", nil), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h :::s0:c1 MountOption}] []"},
		"of the container":   {pod(level("s0:c1"), "", level("s0:c2")), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h :::s0:c2 MountOption}] []"},
		"two claims":         {pod(level("s0:c1"), "", nil), map[string]*corev1.PersistentVolume{"claim": csi, "p-own": iscsi}, false, "[{csi/d^h :::s0:c1 MountOption} {volume/i :::s0:c1 MountOption}] []"},
		"recursively":        {pod(level("s0:c1"), "Recursive", nil), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h  Recursive}] []"},
		"no label":           {pod(nil, "", nil), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h  Recursive}] []"},
		"an empty label":     {pod(&corev1.SELinuxOptions{}, "", nil), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h  Recursive}] []"},
		"same in two":        {pod(level("s0:c1"), "", nil, level("s0:c1")), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[{csi/d^h :::s0:c1 MountOption}] []"},
		"different in two":   {pod(level("s0:c1"), "", nil, level("s0:c2")), map[string]*corev1.PersistentVolume{"claim": csi}, false, "[] [data scratch]"},
		"driver without":     {pod(level("s0:c1"), "", nil), map[string]*corev1.PersistentVolume{"claim": csi}, true, "[] []"},
		"claim is not bound": {pod(level("s0:c1"), "", nil, level("s0:c2")), nil, false, "[] [scratch]"},
	} {
		uses, mixed := Uses(test.pod, Cluster{
			VolumeOf:     func(claim string) *corev1.PersistentVolume { return test.volumes[claim] },
			MountsLabels: func(driver string) bool { return driver == "d" && !test.without },
		})
		if got := fmt.Sprint(uses, mixed); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if got := Claims(pod(nil, "")); !slices.Equal(got, []string{"claim", "p-own", "claim"}) {
		t.Errorf("claims %v", got)
	}
}

func TestLabelsConflict(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"u:r:t:s0:c1,c2", "u:r:t:s0:c1,c2", false},
		{"u:r:t:s0:c1,c2", ":::s0:c1,c2", false},
		{"u:r:t:s0:c1,c2", ":::s0:c98,c99", true},
		{":::s0:c1,c2", "", true},
		{"", "", false},
		{"u:r:t:s0", "u:r:x:s0", true},
		{"u::t:s0", ":r::s0", false},
	} {
		if labelsConflict(test.a, test.b) != test.want || labelsConflict(test.b, test.a) != test.want {
			t.Errorf("%q and %q: want %v", test.a, test.b, test.want)
		}
	}
}

func TestUsers(t *testing.T) {
	u := NewUsers()
	named := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "a", Name: name} }
	elsewhere := types.NamespacedName{Namespace: "b", Name: "z"}
	use := func(label string, policy corev1.PodSELinuxChangePolicy) []Use { return []Use{{"v", label, policy}} }
	expect := func(what string, conflicts []Conflict, want ...string) {
		t.Helper()
		var got []string
		for i := range conflicts {
			got = append(got, conflicts[i].Pod.Name+" "+conflicts[i].Reason()+" "+conflicts[i].Message())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	const end = ". If both pods land on the same node, only one of them may access the volume."
	expect("first", u.Set(named("x"), use(":::c1", "MountOption")))
	expect("alike", u.Set(named("y"), use(":::c1", "MountOption")))
	u.Remove(named("y"))
	expect("another label", u.Set(named("y"), use(":::c2", "MountOption")),
		`y SELinuxLabelConflict SELinuxLabel ":::c2" conflicts with pod x that uses the same volume as this pod with SELinuxLabel ":::c1"`+end,
		`x SELinuxLabelConflict SELinuxLabel ":::c1" conflicts with pod y that uses the same volume as this pod with SELinuxLabel ":::c2"`+end)
	expect("unchanged", u.Set(named("y"), use(":::c2", "MountOption")))
	u.Remove(named("y"))
	expect("another policy, elsewhere", u.Set(elsewhere, use(":::c1", "Recursive")),
		`z SELinuxChangePolicyConflict SELinuxChangePolicy"Recursive" conflicts with another pod that uses the same volume as this pod with a different SELinuxChangePolicy`+end,
		`x SELinuxChangePolicyConflict SELinuxChangePolicy"MountOption" conflicts with another pod that uses the same volume as this pod with a different SELinuxChangePolicy`+end)
	u.Remove(elsewhere)
	u.Remove(named("x"))
	if len(u.volumes) > 0 || len(u.pods) > 0 {
		t.Errorf("left: %v", u)
	}
}
