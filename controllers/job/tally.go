package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/owned"
)

// tally is where a Job stands, and what a decision makes of it step by step.
type tally struct {
	job *batchv1.Job
	now time.Time
	// pods are the Job's.
	pods   []*corev1.Pod
	active []*corev1.Pod
	// terminating and ready include what the plan will have done.
	terminating, ready int32
	// succeededUIDs and failedUIDs are counted, but not yet in the counters.
	succeededUIDs, failedUIDs sets.Set[types.UID]
	// newSucceeded and newFailed are not counted yet.
	newSucceeded, newFailed []*corev1.Pod
	// succeeded and failed are all, whether counted yet or not.
	succeeded, failed int32
	indexes           indexes
	failures          Failures
	// verdict is why the Job is to end, SuccessCriteriaMet or FailureTarget; nil: it
	// goes on.
	verdict *batchv1.JobCondition
	plan    Plan
}

// indexes is where an Indexed Job stands.
type indexes struct {
	// counted are those that the status has as completed.
	counted intervals
	// succeeded are those and what has succeeded since.
	succeeded intervals
	// failed are those that are not tried again; always empty without a
	// backoffLimitPerIndex.
	failed intervals
	// pending has, for each index that is to be tried again, the last pod that
	// failed. It keeps its finalizer until there is another, because it knows how
	// often the index has failed.
	pending map[int]*corev1.Pod
}

func newTally(job *batchv1.Job, pods []*corev1.Pod, known *Failures, now time.Time) *tally {
	t := &tally{job: job, now: now, pods: pods}
	t.succeededUIDs, t.failedUIDs = uncounted(&job.Status)
	for _, pod := range pods {
		if owned.Active(pod) {
			t.active = append(t.active, pod)
			if owned.Ready(pod) {
				t.ready++
			}
		}
		if owned.Terminating(pod) {
			t.terminating++
		}
	}
	t.sortEnded()
	if isIndexed(job) {
		t.countIndexes()
	}
	if known == nil {
		t.failures = reckon(job, pods)
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

// sortEnded finds the pods whose end is not counted yet.
func (t *tally) sortEnded() {
	job := t.job
	prior := parseIndexes(job.Status.CompletedIndexes, completions(job))
	ignored := 0
	for _, pod := range t.pods {
		if !tracked(pod) || t.succeededUIDs.Has(pod.UID) || t.failedUIDs.Has(pod.UID) || !counts(job, pod) {
			continue
		}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			if !isIndexed(job) || !prior.has(indexOf(pod)) {
				t.newSucceeded = append(t.newSucceeded, pod)
			}
		case failed(job, pod):
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
	t.indexes.counted = parseIndexes(t.job.Status.CompletedIndexes, completions(t.job))
	t.indexes.succeeded = t.indexes.counted.with(indexesOf(t.newSucceeded))
	t.succeeded = int32(t.indexes.succeeded.total())
	if !perIndex(t.job) {
		return
	}
	t.indexes.failed = t.failedIndexes()
	t.indexes.pending = t.pendingIndexes()
}

// reckon finds the failures in a row from what pods there still are, for a
// controller that has not seen them happen.
func reckon(job *batchv1.Job, pods []*corev1.Pod) Failures {
	var ended, broken []*corev1.Pod
	for _, pod := range pods {
		switch {
		case !counts(job, pod):
		case pod.Status.Phase == corev1.PodSucceeded:
			ended = append(ended, pod)
		case pod.Status.Phase == corev1.PodFailed || tracked(pod) && failed(job, pod):
			broken = append(broken, pod)
		}
	}
	return Failures{}.after(ended, broken)
}

// waitFor has the Job looked at again after d at the latest.
func (t *tally) waitFor(d time.Duration) {
	if d > 0 && (t.plan.RequeueAfter == 0 || d < t.plan.RequeueAfter) {
		t.plan.RequeueAfter = d
	}
}
