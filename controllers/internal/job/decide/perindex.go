package decide

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// perIndex reports whether each index has its own back-off limit
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index).
func perIndex(job *batchv1.Job) bool {
	return indexes.Indexed(job) && job.Spec.BackoffLimitPerIndex != nil
}

// attempts counts the failures of an index before a pod of it was created.
type attempts struct {
	// counted failures count towards the limit; ignored ones do not, by the
	// podFailurePolicy.
	counted, ignored int32
}

func attemptsBefore(pod *corev1.Pod) attempts {
	read := func(key string) int32 {
		n, err := strconv.ParseInt(pod.Annotations[key], 10, 32)
		if err != nil || n < 0 {
			return 0
		}
		return int32(n)
	}
	return attempts{counted: read(batchv1.JobIndexFailureCountAnnotation), ignored: read(batchv1.JobIndexIgnoredFailureCountAnnotation)}
}

func (a attempts) all() int32 { return a.counted + a.ignored }

// attemptsAfter counts the failures of an index, including the pod's; it counts none without a pod.
func attemptsAfter(job *batchv1.Job, pod *corev1.Pod) attempts {
	if pod == nil {
		return attempts{}
	}
	a := attemptsBefore(pod)
	if judge(job, pod).counted() {
		a.counted++
	} else {
		a.ignored++
	}
	return a
}

// failedIndexes returns the failed indexes in the status, and the indexes whose pod has reached the
// limit or whose failure the podFailurePolicy makes final.
func (t *tally) failedIndexes() indexes.Set {
	job := t.job
	var lost indexes.Set
	if job.Status.FailedIndexes != nil {
		lost = indexes.Parse(*job.Status.FailedIndexes, indexes.Completions(job))
	}
	var now []int
	for _, pod := range t.pods.Ended {
		if !indexes.Counts(job, pod) || !failed(job, pod) {
			continue
		}
		j := judge(job, pod)
		final := j.action == batchv1.PodFailurePolicyActionFailIndex ||
			j.counted() && attemptsBefore(pod).counted >= *job.Spec.BackoffLimitPerIndex
		if final {
			now = append(now, indexes.Of(pod))
		}
	}
	return lost.With(now)
}

// pendingIndexes returns the most recently failed pod of each index that has to be retried.
func (t *tally) pendingIndexes() map[int]*corev1.Pod {
	pending := map[int]*corev1.Pod{}
	for _, pod := range t.pods.Ended {
		if !indexes.Counts(t.job, pod) || !failed(t.job, pod) {
			continue
		}
		i := indexes.Of(pod)
		if t.indexes.succeeded.Has(i) || t.indexes.failed.Has(i) || t.pods.Busy.Has(i) {
			continue
		}
		if last := pending[i]; last == nil || attemptsBefore(last).all() <= attemptsBefore(pod).all() {
			pending[i] = pod
		}
	}
	return pending
}

// due returns the candidates whose back-off has expired, and the shortest remaining
// back-off of the others.
func (t *tally) due(candidates []int) (due []int, soonest time.Duration) {
	for _, i := range candidates {
		last := t.indexes.pending[i]
		var left time.Duration
		if last != nil {
			left = Failures{Count: attemptsBefore(last).all() + 1, Last: finishTime(last)}.remaining(t.now)
		}
		switch {
		case left == 0:
			due = append(due, i)
		case soonest == 0 || left < soonest:
			soonest = left
		}
	}
	return due, soonest
}
