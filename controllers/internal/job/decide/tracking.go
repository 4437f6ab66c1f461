package decide

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// maxUncounted caps the ended pods that one status adds before finalizers are removed.
const maxUncounted = 500

// track counts ended pods in the status. It moves the UIDs of pods without the finalizer
// from the lists to the counters, and adds the UID or index of newly ended pods, whose
// finalizers are removed after the status is stored. It reports whether there are more
// ended pods than one status adds.
func (t *tally) track(status *batchv1.JobStatus) (more bool) {
	settled := func(uid types.UID) bool { return !t.pods.Held.Has(uid) }
	ends := &batchv1.UncountedTerminatedPods{}
	if known := t.job.Status.UncountedTerminatedPods; known != nil {
		ends.Succeeded = slices.DeleteFunc(slices.Clone(known.Succeeded), settled)
		ends.Failed = slices.DeleteFunc(slices.Clone(known.Failed), settled)
		status.Succeeded += int32(len(known.Succeeded) - len(ends.Succeeded))
		status.Failed += int32(len(known.Failed) - len(ends.Failed))
	}
	status.UncountedTerminatedPods = ends
	var ended []int
	var done []*corev1.Pod
	for _, pod := range t.toRelease() {
		done = append(done, pod)
		switch {
		case t.succeededUIDs.Has(pod.UID) || t.failedUIDs.Has(pod.UID) || !indexes.Counts(t.job, pod):
		case pod.Status.Phase == corev1.PodSucceeded && indexes.Indexed(t.job):
			ended = append(ended, indexes.Of(pod))
		case pod.Status.Phase == corev1.PodSucceeded:
			ends.Succeeded = append(ends.Succeeded, pod.UID)
		case (failed(t.job, pod) || t.failing()) && judge(t.job, pod).counted():
			ends.Failed = append(ends.Failed, pod.UID)
		}
		if len(ended)+len(ends.Succeeded)+len(ends.Failed) >= maxUncounted {
			more = true
			break
		}
	}
	if len(done) > 0 {
		t.plan.Untrack = append(t.plan.Untrack, Unpin(done))
	}
	if indexes.Indexed(t.job) {
		t.writeIndexes(status, ended)
	}
	return more
}

// failing reports whether the Job fails, in which case all its active pods count as failed.
func (t *tally) failing() bool { return t.verdict != nil && t.verdict.Type == batchv1.JobFailureTarget }

// toRelease returns the pods that can lose their finalizer. Those of an Indexed Job are
// sorted by index, so that the text of the indexes stays short. While the others run they
// are few, and cheap to sort.
func (t *tally) toRelease() []*corev1.Pod {
	var pods []*corev1.Pod
	if t.job.DeletionTimestamp != nil || t.verdict != nil {
		pods = slices.Clone(t.pods.Pinned)
	} else {
		pods = slices.DeleteFunc(slices.Clone(t.pods.Ended), t.awaited)
	}
	if !indexes.Indexed(t.job) {
		return pods
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(indexes.Of(a), indexes.Of(b)) })
	return pods
}

// awaited reports whether the pod of Ended keeps its finalizer until the next pod of its
// index exists.
func (t *tally) awaited(pod *corev1.Pod) bool {
	last := t.indexes.pending[indexes.Of(pod)]
	return pod.Status.Phase != corev1.PodSucceeded && last != nil && last.UID == pod.UID
}

func (t *tally) writeIndexes(status *batchv1.JobStatus, ended []int) {
	succeeded := t.indexes.counted.With(ended)
	status.CompletedIndexes = succeeded.String()
	status.Succeeded = int32(succeeded.Total())
	status.FailedIndexes = nil
	if perIndex(t.job) {
		status.FailedIndexes = ptr.To(t.indexes.failed.String())
	}
}
