package framework

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// The fast path for plain pods gives the same result as the general rules.
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
			t.Fatal("isPlain is wrong")
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

// Requests of the pod level count for a pod on a node, but not in the scores of a pod without a node.
func TestScoredRequestsOfThePodLevel(t *testing.T) {
	const mi = 1 << 20
	list := func(pairs ...string) corev1.ResourceList { return st.Quantities(pairs...) }
	for _, tt := range []struct {
		name                                           string
		pod                                            corev1.ResourceList
		containers                                     []corev1.ResourceList
		scoredCPU, scoredMemory, askedCPU, askedMemory int64
	}{
		{"none", nil, []corev1.ResourceList{list("cpu", "1"), nil}, 1100, 400 * mi, 1100, 400 * mi},
		{"both", list("cpu", "3", "memory", "1Gi"), []corev1.ResourceList{list("cpu", "1"), nil}, 3000, 1024 * mi, 1100, 400 * mi},
		{"one, the other nowhere", list("cpu", "3"), []corev1.ResourceList{nil, nil}, 3000, 400 * mi, 200, 400 * mi},
		{"one, the other in a container", list("cpu", "3"), []corev1.ResourceList{list("memory", "1Mi"), nil}, 3000, 1 * mi, 200, 201 * mi},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := st.Pod("p", func(p *corev1.Pod) {
				p.Spec.Containers = nil
				for _, requests := range tt.containers {
					p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests}})
				}
				if tt.pod != nil {
					p.Spec.Resources = &corev1.ResourceRequirements{Requests: tt.pod}
				}
			})
			p := NewPodInfo(pod)
			if p.ScoredCPU != tt.scoredCPU || p.ScoredMemory != tt.scoredMemory || p.AskedCPU != tt.askedCPU || p.AskedMemory != tt.askedMemory {
				t.Errorf("scored %d and %d, asked %d and %d", p.ScoredCPU, p.ScoredMemory, p.AskedCPU, p.AskedMemory)
			}
		})
	}
}
