package podspec

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// User returns whom a container runs as, and its supplementary groups: the container's security
// context takes precedence over the pod's, and this over the image's user, which is root if it is
// not known (nil).
func User(pod *corev1.Pod, c *corev1.Container, imageUID, imageGID *int64) (uid, gid int64, groups []int64) {
	user, group := (*int64)(nil), (*int64)(nil)
	if of := pod.Spec.SecurityContext; of != nil {
		user, group = of.RunAsUser, of.RunAsGroup
		groups = slices.Clone(of.SupplementalGroups)
		if of.FSGroup != nil {
			groups = append(groups, *of.FSGroup)
		}
	}
	if of := c.SecurityContext; of != nil {
		user, group = cmp.Or(of.RunAsUser, user), cmp.Or(of.RunAsGroup, group)
	}
	if user == nil {
		user = imageUID
		group = cmp.Or(group, imageGID)
	}
	return ptr.Deref(user, 0), ptr.Deref(group, 0), groups
}
