package job

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// A decision costs time in proportion to the pods.
func BenchmarkDecide(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		for _, n := range []int{10, 1000, 10000} {
			job := newJob(spec(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = ptr.To(int32(n)), ptr.To(int32(n)) }))
			if indexed {
				indexedJob(job)
			}
			pods := make([]*corev1.Pod, n)
			for i := range pods {
				pods[i] = newPod(fmt.Sprint("p", i), index(i))
				if i%3 == 0 {
					succeeded(pods[i])
				}
			}
			b.Run(fmt.Sprintf("indexed=%v/pods=%d", indexed, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Decide(Snapshot{Job: job, Pods: pods, Failures: &Failures{}}, now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
