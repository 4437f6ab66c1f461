package podspec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// sysAdmin is the capability CAP_SYS_ADMIN.
const sysAdmin corev1.Capability = "SYS_ADMIN"

// MayMount reports whether a user in the container may mount file systems: root, if the container is privileged or
// has the capability CAP_SYS_ADMIN.
func MayMount(c *corev1.Container, uid int64) bool {
	s := c.SecurityContext
	if uid != 0 || s == nil {
		return false
	}
	if s.Privileged != nil && *s.Privileged {
		return true
	}
	return s.Capabilities != nil && slices.ContainsFunc(s.Capabilities.Add, func(name corev1.Capability) bool {
		name = corev1.Capability(strings.TrimPrefix(strings.ToUpper(string(name)), "CAP_"))
		return (name == sysAdmin || name == "ALL") && !slices.Contains(s.Capabilities.Drop, sysAdmin)
	})
}
