package decide

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestContestedClaims(t *testing.T) {
	const keep, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	ref := func(kind, name, uid string, controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: kind, Name: name, UID: types.UID(uid), Controller: &controls}
	}
	for name, tc := range map[string]struct {
		scaled appsv1.PersistentVolumeClaimRetentionPolicyType
		owner  metav1.OwnerReference
		want   bool
	}{
		"the set's":                       {remove, ref("StatefulSet", "db", "set", true), false},
		"the pod's":                       {remove, ref("Pod", "db-0", "pod", true), false},
		"an owner that does not control":  {remove, ref("Backup", "nightly", "b", false), false},
		"another controller":              {remove, ref("Backup", "nightly", "b", true), true},
		"another one, but all is to stay": {keep, ref("Backup", "nightly", "b", true), false},
		"an earlier set of the name":      {remove, ref("StatefulSet", "db", "before", false), true},
		"an earlier pod of the name":      {remove, ref("Pod", "db-0", "before", false), true},
		"a pod of another name":           {remove, ref("Pod", "db-1", "other", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "set"}}
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: tc.scaled, WhenDeleted: keep}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", UID: "pod"}}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{tc.owner}}}
			if got := contested(set, pod, claim); got != tc.want {
				t.Errorf("contested: %v", got)
			}
		})
	}
}
