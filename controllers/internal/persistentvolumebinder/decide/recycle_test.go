package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recyclerPod is a recycler pod of volume v for a claim.
func recyclerPod(claim string, phase corev1.PodPhase, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "recycler-for-v", Annotations: map[string]string{"minikcm.dev/recycles": claim}},
		Status:     corev1.PodStatus{Phase: phase},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func TestRecycle(t *testing.T) {
	recycled := func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
	}
	released, users := phase(corev1.VolumeReleased), ref("c", "uid-c")
	mine := ref("c", "uid-c", byController)
	going := func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }
	deadline := func(pod *corev1.Pod) {
		pod.Status.Message = "Pod was active on the node longer than the specified deadline"
	}
	user := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
	for name, test := range map[string]struct {
		volume *corev1.PersistentVolume
		with   Recycling
		want   string
	}{
		"begins":            {volume("v", "1Gi", mine, released, recycled), Recycling{}, "create pod default/recycler-for-v"},
		"in use":            {volume("v", "1Gi", mine, released, recycled), Recycling{Users: []*corev1.Pod{user, user}}, "VolumeFailedRecycle: Volume is used by pods: a/p,a/p"},
		"runs":              {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodRunning)}, ""},
		"of an old claim":   {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-old", corev1.PodSucceeded)}, "delete pod default/recycler-for-v"},
		"old one is going":  {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-old", corev1.PodSucceeded, going)}, ""},
		"has succeeded":     {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodSucceeded)}, "update v, Released, VolumeRecycled: Volume recycled"},
		"user's claimRef":   {volume("v", "1Gi", users, released, recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodSucceeded)}, "update v, Released, for c(), VolumeRecycled: Volume recycled"},
		"has failed":        {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodFailed)}, "status v, Failed, for c(uid-c), by controller, VolumeFailedRecycle: Recycle failed: pod failed, pod.Status.Message unknown"},
		"took too long":     {volume("v", "1Gi", mine, released, recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodFailed, deadline)}, "status v, Failed, for c(uid-c), by controller, VolumeFailedRecycle: Recycle failed: Pod was active on the node longer than the specified deadline"},
		"after the failure": {volume("v", "1Gi", mine, phase(corev1.VolumeFailed), recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodFailed)}, "delete pod default/recycler-for-v"},
		"after the success": {volume("v", "1Gi", recycled), Recycling{Recycler: recyclerPod("uid-c", corev1.PodSucceeded)}, "delete pod default/recycler-for-v"},
		"another's pod":     {volume("v", "1Gi", recycled), Recycling{Recycler: recyclerPod("", corev1.PodRunning)}, ""},
		"policy changed":    {volume("v", "1Gi", mine, released), Recycling{Recycler: recyclerPod("uid-c", corev1.PodRunning)}, "delete pod default/recycler-for-v"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(Volume(test.volume, nil, test.with)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestRecyclerDeadline checks that the deadline of a recycler pod grows with the size of the volume, from a
// higher minimum for NFS.
func TestRecyclerDeadline(t *testing.T) {
	nfs := func(v *corev1.PersistentVolume) {
		v.Spec.NFS = &corev1.NFSVolumeSource{Server: "s", Path: "/p"}
	}
	hostPath := func(v *corev1.PersistentVolume) {
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/p"}
	}
	for name, test := range map[string]struct {
		source func(*corev1.PersistentVolume)
		size   string
		want   int64
	}{
		"small host path": {hostPath, "500Mi", 60},
		"large host path": {hostPath, "10Gi", 300},
		"small NFS":       {nfs, "1Gi", 300},
		"large NFS":       {nfs, "20Gi", 600},
	} {
		pod := recycler(volume("v", test.size, ref("c", "uid-c"), test.source))
		if got := *pod.Spec.ActiveDeadlineSeconds; got != test.want {
			t.Errorf("%s: %d s, want %d s", name, got, test.want)
		}
	}
}
