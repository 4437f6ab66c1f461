package resourcename

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// IsExtended reports whether a resource is an extended one, such as a device plugin's: its name has
// a domain, which is not Kubernetes', and is not the name of a quota.
func IsExtended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, "kubernetes.io/") && !strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}

// MayBeDevices reports whether a DeviceClass may back a resource (KEP-5004): an extended one, or the
// implicit one that has the name of the class.
func MayBeDevices(name corev1.ResourceName) bool {
	return IsExtended(name) || strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
}
