package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// User returns whom a container runs as, and its supplementary groups: the container's security
// context takes precedence over the pod's. Without either it is root, because nothing is known of
// the image's user.
func User(pod *corev1.Pod, c *corev1.Container) (uid, gid int64, groups []int64) {
	if of := pod.Spec.SecurityContext; of != nil {
		uid, gid = ptr.Deref(of.RunAsUser, 0), ptr.Deref(of.RunAsGroup, 0)
		groups = slices.Clone(of.SupplementalGroups)
		if of.FSGroup != nil {
			groups = append(groups, *of.FSGroup)
		}
	}
	if of := c.SecurityContext; of != nil {
		uid, gid = ptr.Deref(of.RunAsUser, uid), ptr.Deref(of.RunAsGroup, gid)
	}
	return uid, gid, groups
}
