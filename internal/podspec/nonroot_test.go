package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestNonRootProblem(t *testing.T) {
	const broken = `container's runAsUser breaks non-root policy (pod: "p_ns(u)", container: c)`
	root, user := ptr.To(int64(0)), ptr.To(int64(1000))
	for name, test := range map[string]struct {
		pod       *corev1.PodSecurityContext
		container *corev1.SecurityContext
		want      string
	}{
		"nothing said":             {nil, nil, ""},
		"root":                     {&corev1.PodSecurityContext{RunAsUser: root}, nil, ""},
		"not root, but root":       {&corev1.PodSecurityContext{RunAsUser: root, RunAsNonRoot: ptr.To(true)}, nil, broken},
		"a user":                   {&corev1.PodSecurityContext{RunAsUser: user, RunAsNonRoot: ptr.To(true)}, nil, ""},
		"the image's":              {&corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}, nil, ""},
		"the container's user":     {&corev1.PodSecurityContext{RunAsUser: user, RunAsNonRoot: ptr.To(true)}, &corev1.SecurityContext{RunAsUser: root}, broken},
		"the container is allowed": {&corev1.PodSecurityContext{RunAsUser: root, RunAsNonRoot: ptr.To(true)}, &corev1.SecurityContext{RunAsNonRoot: ptr.To(false)}, ""},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: test.pod}}
		pod.Name, pod.Namespace, pod.UID = "p", "ns", "u"
		if got := NonRootProblem(pod, &corev1.Container{Name: "c", SecurityContext: test.container}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
