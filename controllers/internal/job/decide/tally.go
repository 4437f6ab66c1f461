package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// tally is the state of a decision about a Job.
type tally struct {
	job  *batchv1.Job
	now  time.Time
	pods Pods
	// terminating and ready include the effects of the plan.
	terminating, ready int32
	// succeededUIDs and failedUIDs are in the status, but not in its counters yet.
	succeededUIDs, failedUIDs sets.Set[types.UID]
	// newSucceeded and newFailed are not in the status yet.
	newSucceeded, newFailed []*corev1.Pod
	// succeeded and failed are the totals, including pods that are not in the status yet.
	succeeded, failed int32
	indexes           indexCounts
	failures          Failures
	// verdict is the condition that ends the Job, SuccessCriteriaMet or FailureTarget; nil:
	// it does not end yet.
	verdict *batchv1.JobCondition
	plan    Plan
}

// indexCounts is the progress of an Indexed Job.
type indexCounts struct {
	// counted are the completed indexes in the status.
	counted indexes.Set
	// succeeded are counted and the indexes that have succeeded since.
	succeeded indexes.Set
	// failed are the indexes that are not retried; always empty without a
	// backoffLimitPerIndex.
	failed indexes.Set
	// pending holds, for each index to retry, the pod that failed last. The pod keeps its
	// finalizer until the next pod exists, because its annotations hold the failure count
	// of the index.
	pending map[int]*corev1.Pod
}

func newTally(job *batchv1.Job, pods Pods, known *Failures, now time.Time) *tally {
	t := &tally{job: job, now: now, pods: pods, ready: pods.Counts.Ready, terminating: pods.Counts.Terminating}
	t.succeededUIDs, t.failedUIDs = uncounted(&job.Status)
	t.sortEnded()
	if indexes.Indexed(job) {
		t.countIndexes()
	}
	if known == nil {
		t.failures = reckon(job, pods.Past)
	} else {
		t.failures = known.after(t.newSucceeded, t.newFailed)
	}
	return t
}

func uncounted(status *batchv1.JobStatus) (succeeded, failed sets.Set[types.UID]) {
	if status.UncountedTerminatedPods == nil {
		return nil, nil
	}
	return sets.New(status.UncountedTerminatedPods.Succeeded...), sets.New(status.UncountedTerminatedPods.Failed...)
}

// sortEnded collects the ended pods that are not counted yet.
func (t *tally) sortEnded() {
	job := t.job
	prior := indexes.Parse(job.Status.CompletedIndexes, indexes.Completions(job))
	ignored := 0
	for _, pod := range t.pods.Ended {
		if t.succeededUIDs.Has(pod.UID) || t.failedUIDs.Has(pod.UID) || !indexes.Counts(job, pod) {
			continue
		}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			if !indexes.Indexed(job) || !prior.Has(indexes.Of(pod)) {
				t.newSucceeded = append(t.newSucceeded, pod)
			}
		default:
			t.newFailed = append(t.newFailed, pod)
			if !judge(job, pod).counted() {
				ignored++
			}
		}
	}
	t.succeeded = job.Status.Succeeded + int32(len(t.newSucceeded)+t.succeededUIDs.Len())
	t.failed = job.Status.Failed + int32(len(t.newFailed)-ignored+t.failedUIDs.Len())
}

func (t *tally) countIndexes() {
	t.indexes.counted = indexes.Parse(t.job.Status.CompletedIndexes, indexes.Completions(t.job))
	t.indexes.succeeded = t.indexes.counted.With(indexes.All(t.newSucceeded))
	t.succeeded = int32(t.indexes.succeeded.Total())
	if !perIndex(t.job) {
		return
	}
	t.indexes.failed = t.failedIndexes()
	t.indexes.pending = t.pendingIndexes()
}

// reckon derives the consecutive failures from the remaining pods, for a controller that
// has not observed them.
func reckon(job *batchv1.Job, pods []*corev1.Pod) Failures {
	var ended, broken []*corev1.Pod
	for _, pod := range pods {
		switch {
		case !indexes.Counts(job, pod):
		case pod.Status.Phase == corev1.PodSucceeded:
			ended = append(ended, pod)
		case pod.Status.Phase == corev1.PodFailed || Tracked(pod) && failed(job, pod):
			broken = append(broken, pod)
		}
	}
	return Failures{}.after(ended, broken)
}

// waitFor requests a requeue of the Job after d at the latest.
func (t *tally) waitFor(d time.Duration) {
	if d > 0 && (t.plan.RequeueAfter == 0 || d < t.plan.RequeueAfter) {
		t.plan.RequeueAfter = d
	}
}
