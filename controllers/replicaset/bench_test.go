package replicaset

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkDecide decides about a converged ReplicaSet of 2,000 pods: the most that an
// event of one of its pods costs.
func BenchmarkDecide(b *testing.B) {
	in := Snapshot{ReplicaSet: replicaSet(2000)}
	for i := range 2000 {
		in.Pods = append(in.Pods, pod(fmt.Sprintf("web-%d", i), ready(time.Minute)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Decide(in, now); err != nil || len(p.Actions) != 0 {
			b.Fatal(p.Actions, err)
		}
	}
}

// BenchmarkToDelete selects 500 of 2,000 pods.
func BenchmarkToDelete(b *testing.B) {
	var pods []*corev1.Pod
	crowd := map[string]int{}
	for i := range 2000 {
		node := fmt.Sprintf("n%d", i%10)
		crowd[node]++
		pods = append(pods, pod(fmt.Sprintf("web-%d", i), ready(time.Duration(i)*time.Second), on(node)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := toDelete(pods, crowd, 500, now); len(got) != 500 {
			b.Fatal(len(got))
		}
	}
}
