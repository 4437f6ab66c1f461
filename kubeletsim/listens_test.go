package kubeletsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// The answers of minikcm.dev/http name the TCP ports of a container, and say nothing of others.
func TestListensBesideAnswers(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Annotated("http", "80 / 200 hello"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81}, {ContainerPort: 80, Protocol: corev1.ProtocolUDP}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	for _, tt := range []struct {
		port     int32
		protocol corev1.Protocol
		want     bool
	}{
		{80, corev1.ProtocolTCP, true}, {81, corev1.ProtocolTCP, false}, {80, corev1.ProtocolUDP, true}, {81, corev1.ProtocolUDP, false}, {80, corev1.ProtocolSCTP, false},
	} {
		if got := Listens(pod, tt.port, tt.protocol) != nil; got != tt.want {
			t.Errorf("something listens on %s port %d: %t, want %t", tt.protocol, tt.port, got, tt.want)
		}
	}
}
