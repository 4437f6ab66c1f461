package decide

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// RecyclerNamespace is the namespace of recycler pods.
const RecyclerNamespace = metav1.NamespaceDefault

const (
	recyclerPrefix = "recycler-for-"
	// annotationRecycles has the UID of the claim whose data a recycler pod removes. A pod for
	// an earlier claim of the volume says nothing about the data of this one.
	annotationRecycles = "minikcm.dev/recycles"

	recyclerImage  = "busybox:1.36"
	recyclerVolume = "vol"
	recyclerScript = `test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1`
)

// The deadlines of recycler pods, in seconds, are upstream's defaults: a minimum for each kind
// of volume, and a time for each GiB of its capacity.
const (
	minimumHostPath, minimumNFS = 60, 300
	secondsPerGi                = 30
)

// Recycling holds the inputs for recycling a released volume, besides the volume.
type Recycling struct {
	// Users are the pods that use a claim of the volume's claimRef and have not ended.
	Users []*corev1.Pod
	// Recycler is the volume's recycler pod; nil: there is none.
	Recycler *corev1.Pod
}

// RecyclerName returns the name of the recycler pod of a volume.
func RecyclerName(volume string) string { return recyclerPrefix + volume }

// RecycledBy returns the name of the volume that a pod recycles; "": it is no recycler pod.
func RecycledBy(pod *corev1.Pod) string {
	name, found := strings.CutPrefix(pod.Name, recyclerPrefix)
	if !found || pod.Namespace != RecyclerNamespace {
		return ""
	}
	return name
}

// IsRecycled reports whether a volume waits for its recycling.
func IsRecycled(volume *corev1.PersistentVolume) bool {
	return volume.Status.Phase == corev1.VolumeReleased && volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle
}

// recycle returns the next step of a released volume with the policy Recycle: a pod removes the
// files in it, and then the volume is available again (Kubernetes documentation, "Persistent
// Volumes: Recycle").
func recycle(volume *corev1.PersistentVolume, r Recycling) Step {
	if len(r.Users) > 0 {
		names := make([]string, 0, len(r.Users))
		for _, pod := range r.Users {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		return report(volume, corev1.EventTypeNormal, "VolumeFailedRecycle", "Volume is used by pods: "+strings.Join(names, ","))
	}
	pod := r.Recycler
	switch {
	case volume.Spec.HostPath == nil && volume.Spec.NFS == nil:
		return failed(volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
	case pod == nil:
		return Step{Write: Create, Object: recycler(volume)}
	case pod.DeletionTimestamp != nil:
		return Step{}
	case pod.Annotations[annotationRecycles] != string(volume.Spec.ClaimRef.UID):
		return Step{Write: Delete, Object: pod}
	case pod.Status.Phase == corev1.PodSucceeded:
		step := unbind(volume)
		step.Events = []Event{event(volume, corev1.EventTypeNormal, "VolumeRecycled", "Volume recycled")}
		return step
	case pod.Status.Phase == corev1.PodFailed:
		message := pod.Status.Message
		if message == "" {
			message = "pod failed, pod.Status.Message unknown"
		}
		return failed(volume, "VolumeFailedRecycle", "Recycle failed: "+message)
	}
	return Step{}
}

// Forget returns the step that deletes a recycler pod which no volume waits for.
func Forget(pod *corev1.Pod) Step {
	if pod == nil || pod.DeletionTimestamp != nil || pod.Annotations[annotationRecycles] == "" {
		return Step{}
	}
	return Step{Write: Delete, Object: pod}
}

// recycler returns the pod that removes the files in a volume.
func recycler(volume *corev1.PersistentVolume) *corev1.Pod {
	source, minimum := corev1.VolumeSource{HostPath: volume.Spec.HostPath}, int64(minimumHostPath)
	if volume.Spec.NFS != nil {
		source, minimum = corev1.VolumeSource{NFS: volume.Spec.NFS}, minimumNFS
	}
	if path := source.HostPath; path != nil {
		source.HostPath = &corev1.HostPathVolumeSource{Path: path.Path} // whatever its type is
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: RecyclerNamespace, Name: RecyclerName(volume.Name),
			Annotations: map[string]string{annotationRecycles: string(volume.Spec.ClaimRef.UID)},
		},
		Spec: corev1.PodSpec{
			ActiveDeadlineSeconds: ptr.To(max(minimum, volume.Spec.Capacity.Storage().Value()>>30*secondsPerGi)),
			RestartPolicy:         corev1.RestartPolicyNever,
			Volumes:               []corev1.Volume{{Name: recyclerVolume, VolumeSource: source}},
			Containers: []corev1.Container{{
				Name: "pv-recycler", Image: recyclerImage, Command: []string{"/bin/sh"}, Args: []string{"-c", recyclerScript},
				VolumeMounts: []corev1.VolumeMount{{Name: recyclerVolume, MountPath: "/scrub"}},
			}},
		},
	}
}
