package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestMayMount(t *testing.T) {
	capabilities := func(add, drop []corev1.Capability) *corev1.SecurityContext {
		return &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: add, Drop: drop}}
	}
	privileged := &corev1.SecurityContext{Privileged: ptr.To(true)}
	for name, tt := range map[string]struct {
		context *corev1.SecurityContext
		uid     int64
		want    bool
	}{
		"no context":             {nil, 0, false},
		"not privileged":         {&corev1.SecurityContext{Privileged: ptr.To(false)}, 0, false},
		"privileged":             {privileged, 0, true},
		"privileged, not root":   {privileged, 1000, false},
		"the capability":         {capabilities([]corev1.Capability{"SYS_ADMIN"}, []corev1.Capability{"ALL"}), 0, true},
		"the prefixed one":       {capabilities([]corev1.Capability{"CAP_SYS_ADMIN"}, nil), 0, true},
		"all but the capability": {capabilities([]corev1.Capability{"ALL"}, []corev1.Capability{"SYS_ADMIN"}), 0, false},
		"another":                {capabilities([]corev1.Capability{"NET_ADMIN"}, nil), 0, false},
	} {
		if got := MayMount(&corev1.Container{SecurityContext: tt.context}, tt.uid); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
