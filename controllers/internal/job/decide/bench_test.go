package decide

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/modeltest"
)

// BenchmarkDecide shows that a decision takes time in proportion to the pods.
func BenchmarkDecide(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("indexed=%v", indexed), func(b *testing.B) {
			modeltest.Benchmark(b, func(_ testing.TB, n int) func() error {
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
				return func() error {
					_, err := Job(snapshot(b, job, pods, &Failures{}), now)
					return err
				}
			})
		})
	}
}
