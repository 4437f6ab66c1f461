package podspec

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// NonRootProblem says why a kubelet does not create a container: it must not run as root, but its security context says that it
// does. It is empty if there is no problem. The user of the image does not count: it may be unknown.
func NonRootProblem(pod *corev1.Pod, c *corev1.Container) string {
	var nonRoot *bool
	var user *int64
	if of := pod.Spec.SecurityContext; of != nil {
		nonRoot, user = of.RunAsNonRoot, of.RunAsUser
	}
	if of := c.SecurityContext; of != nil {
		nonRoot, user = cmp.Or(of.RunAsNonRoot, nonRoot), cmp.Or(of.RunAsUser, user)
	}
	if !ptr.Deref(nonRoot, false) || ptr.Deref(user, -1) != 0 {
		return ""
	}
	return fmt.Sprintf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), c.Name)
}
