package listeners_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
)

// described returns a pod with one container of an incomplete description, which listens on port 80.
func described(complete string, ports ...int32) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Annotations = map[string]string{"minikcm.dev/server": "complete: " + complete + "\nlisten: [{port: 80, routes: [{path: /*}]}]"}
	c := corev1.Container{Name: "app", Image: "app"}
	for _, p := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: p})
	}
	pod.Spec.Containers = []corev1.Container{c}
	return pod
}

// What listens beside the ports of a description follows from its completeness.
func TestCompleteness(t *testing.T) {
	t.Parallel()
	running := func(string) bool { return true }
	for _, test := range []struct {
		complete string
		declared []int32
		port     int32
		want     bool
	}{
		{"true", nil, 80, true},
		{"true", nil, 9999, false},
		{"true", []int32{9999}, 9999, false},
		{"declared", nil, 80, true},
		{"declared", nil, 9999, false},
		{"declared", []int32{9999}, 9999, true},
		{"declared", []int32{9999}, 8888, false},
		{"false", nil, 9999, true},
		{"false", []int32{80}, 9999, false},
		{"'${container.mounts.size() > 0 ? \"false\" : \"declared\"}'", nil, 9999, false},
	} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			want := test.want && (protocol == corev1.ProtocolTCP || test.complete == "false" && test.declared == nil)
			if got := listeners.Of(described(test.complete, test.declared...), running, test.port, protocol) != nil; got != want {
				t.Errorf("complete: %s, declared %v: %d/%s: %v", test.complete, test.declared, test.port, protocol, got)
			}
		}
		pod := described(test.complete, test.declared...)
		_, _, refused := listeners.OfProbe(pod, running, podspec.Containers(pod)[0], intstr.FromInt32(test.port))
		if want := !test.want && test.complete != "false"; refused != want {
			t.Errorf("complete: %s, declared %v: a probe of %d is refused: %v", test.complete, test.declared, test.port, refused)
		}
	}
}
