package framework

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	st "minikcm.dev/minikcm/controllers/scheduler/schedulertest"
)

// The short way for plain pods gives what the general rules give.
func TestPlainPodsByTheGeneralRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := st.Pod("p")
		pod.Spec.Containers = nil
		for range rapid.IntRange(1, 3).Draw(t, "containers") {
			list := corev1.ResourceList{}
			for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/a"} {
				if rapid.Bool().Draw(t, string(name)) {
					list[name] = st.Quantities("q", fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "n")))["q"]
				}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: list}})
		}
		general := pod.DeepCopy()
		general.Spec.Overhead = corev1.ResourceList{} // not plain, and nothing more
		if !isPlain(pod) || isPlain(general) {
			t.Fatal("wrongly told apart")
		}
		if got, want := podRequests(pod), podRequests(general); got.MilliCPU != want.MilliCPU || got.Memory != want.Memory ||
			got.EphemeralStorage != want.EphemeralStorage || got.Scalar["example.com/a"] != want.Scalar["example.com/a"] {
			t.Errorf("requests %+v, want %+v", got, want)
		}
		cpu, memory := scoredRequests(pod)
		wantCPU, wantMemory := scoredRequests(general)
		if cpu != wantCPU || memory != wantMemory {
			t.Errorf("scored %d and %d, want %d and %d", cpu, memory, wantCPU, wantMemory)
		}
	})
}
