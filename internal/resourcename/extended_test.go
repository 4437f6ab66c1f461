package resourcename_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/resourcename"
)

func TestIsExtended(t *testing.T) {
	for name, want := range map[corev1.ResourceName]bool{
		"example.com/gpu":            true,
		"my.kubernetes.iox/gpu":      true,
		"cpu":                        false,
		"hugepages-2Mi":              false,
		"kubernetes.io/batch-cpu":    false,
		"pods.kubernetes.io/x":       false,
		"mykubernetes.io/x":          false,
		"requests.example.com/gpu":   false,
		"example.com/requests.gpu.x": true,
	} {
		if got := resourcename.IsExtended(name); got != want {
			t.Errorf("IsExtended(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestMayBeDevices(t *testing.T) {
	for name, want := range map[corev1.ResourceName]bool{
		"example.com/gpu":                                 true,
		"deviceclass.resource.kubernetes.io/gpu":          true,
		"requests.deviceclass.resource.kubernetes.io/gpu": false,
		"kubernetes.io/batch-cpu":                         false,
		"memory":                                          false,
	} {
		if got := resourcename.MayBeDevices(name); got != want {
			t.Errorf("MayBeDevices(%q) = %v, want %v", name, got, want)
		}
	}
}
