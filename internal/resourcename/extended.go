package resourcename

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// IsExtended reports whether a resource is an extended one, such as a device plugin's: its name
// has a domain, which is not Kubernetes', and is not that of a quota.
func IsExtended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, "kubernetes.io/") && !strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}
