package decide

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// newPod returns the pod of an ordinal: with its name, host name and labels, and with its
// own claims in place of the templates.
func newPod(revs *revisions, ordinal int) *corev1.Pod {
	revision, template := revs.forOrdinal(ordinal)
	set := revs.set
	pod := controllerref.PodOf(template, set, Kind)
	pod.Name = podName(set, ordinal)
	identify(pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname = pod.Name
	pod.Spec.Subdomain = set.Spec.ServiceName
	pod.Spec.Volumes = volumes(set, pod.Spec.Volumes, ordinal)
	return pod
}

// identify sets the labels that distinguish the pods of a set.
func identify(pod *corev1.Pod, ordinal int) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
}

func identified(pod *corev1.Pod) bool { return pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name }

// volumes returns the volumes of the ordinal's claims, followed by the others whose names
// differ.
func volumes(set *appsv1.StatefulSet, others []corev1.Volume, ordinal int) []corev1.Volume {
	if len(set.Spec.VolumeClaimTemplates) == 0 {
		return others
	}
	claimed := map[string]bool{}
	var all []corev1.Volume
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		if claimed[template.Name] {
			continue
		}
		claimed[template.Name] = true
		all = append(all, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, template, ordinal)},
		}})
	}
	for _, volume := range others {
		if !claimed[volume.Name] {
			all = append(all, volume)
		}
	}
	return all
}

func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && controllerref.Ready(pod)
}
