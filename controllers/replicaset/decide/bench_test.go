package decide

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/replicaset/replicasettest"
)

// BenchmarkDecide decides about a converged ReplicaSet of 2,000 pods: the most that an
// event of one of its pods costs.
func BenchmarkDecide(b *testing.B) {
	in := Snapshot{ReplicaSet: replicasettest.ReplicaSet(2000)}
	for i := range 2000 {
		in.Pods = append(in.Pods, replicasettest.Pod(fmt.Sprintf("web-%d", i), replicasettest.Ready(time.Minute)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := ReplicaSet(in, replicasettest.Now); err != nil || len(p.Actions) != 0 {
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
		pods = append(pods, replicasettest.Pod(fmt.Sprintf("web-%d", i), replicasettest.Ready(time.Duration(i)*time.Second), replicasettest.On(node)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := toDelete(pods, crowd, 500, replicasettest.Now); len(got) != 500 {
			b.Fatal(len(got))
		}
	}
}
