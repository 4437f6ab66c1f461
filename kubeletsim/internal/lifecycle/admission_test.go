package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

func TestAdmit(t *testing.T) {
	requesting := func(pairs ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = podtest.Resources(pairs...) }
	}
	setting := func(sysctl string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: sysctl, Value: "1"}}}
		}
	}
	selecting := func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"zone": "b"} }
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": "a"}},
		Status:     corev1.NodeStatus{Allocatable: podtest.Resources("example.com/gpu", "1"), NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux"}},
	}
	allocatable := podtest.Resources("cpu", "4", "memory", "8Gi", "pods", "3")
	tests := []struct {
		name string
		pod  func(*corev1.Pod)
		on   Allocated
		want Rejection
	}{
		{"fits exactly", requesting("cpu", "2", "memory", "8Gi"), Allocated{2, podtest.Resources("cpu", "2")}, Rejection{}},
		{
			"no cpu", requesting("cpu", "2001m"),
			Allocated{2, podtest.Resources("cpu", "2")},
			Rejection{"OutOfcpu", "Node didn't have enough resource: cpu, requested: 2001, used: 2000, capacity: 4000"},
		},
		{
			"no memory", requesting("memory", "9Gi"),
			Allocated{},
			Rejection{"OutOfmemory", "Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592"},
		},
		{"too many", nil, Allocated{Pods: 3}, Rejection{"OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"}},
		{
			"extended", requesting("example.com/gpu", "2"),
			Allocated{},
			Rejection{"OutOfexample.com/gpu", "Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"},
		},
		{"unknown extended", requesting("example.com/tpu", "2"), Allocated{}, Rejection{}},
		{"a safe sysctl", setting("net/ipv4/tcp_rmem"), Allocated{}, Rejection{}},
		{"another sysctl", setting("kernel.msgmax"), Allocated{}, Rejection{"SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`}},
		{
			"a sysctl of the host", func(pod *corev1.Pod) { setting("net.ipv4.tcp_rmem")(pod); pod.Spec.HostNetwork = true },
			Allocated{},
			Rejection{"SysctlForbidden", `forbidden sysctl: "net.ipv4.tcp_rmem" not allowed with host net enabled`},
		},
		{"its system", func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Linux} }, Allocated{}, Rejection{}},
		{
			"another system", func(pod *corev1.Pod) { pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows} },
			Allocated{},
			Rejection{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"},
		},
		{"another zone", selecting, Allocated{}, Rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := podtest.Pod("web", "node-0")
			if tt.pod != nil {
				tt.pod(pod)
			}
			if got := Admit(pod, node, allocatable, tt.on); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
