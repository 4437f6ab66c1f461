package decide

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/replicaset/replicasettest"
)

// BenchmarkSurvey counts 2,000 pods from scratch.
func BenchmarkSurvey(b *testing.B) {
	var pods []*corev1.Pod
	for i := range 2000 {
		pods = append(pods, replicasettest.Pod(fmt.Sprintf("web-%d", i), replicasettest.Ready(time.Minute)))
	}
	rs := replicasettest.ReplicaSet(2000)
	b.ReportAllocs()
	for b.Loop() {
		if found, _, err := Survey(rs, pods, replicasettest.Now); err != nil || found.Counts.Ready != 2000 {
			b.Fatal(found.Counts, err)
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
