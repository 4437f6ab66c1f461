package decide

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// burst caps the pods that one plan creates or deletes, as upstream does.
const burst = 500

func parallelism(job *batchv1.Job) int {
	if job.Spec.Parallelism == nil {
		return 1
	}
	return int(*job.Spec.Parallelism)
}

// wanted returns the number of pods that should be active.
func (t *tally) wanted() int {
	if suspended(t.job) {
		return 0
	}
	if t.job.Spec.Completions != nil {
		return max(0, min(parallelism(t.job), indexes.Completions(t.job)-int(t.succeeded)))
	}
	if t.succeeded > 0 {
		// In a work queue, the first success means that no further pod may start.
		return int(t.pods.Counts.Active)
	}
	return parallelism(t.job)
}

// scale creates missing pods or deletes surplus ones, and returns how many will be active.
// One plan does not do both; deletions come first.
func (t *tally) scale() int {
	active := int(t.pods.Counts.Active)
	if spare := t.spare(t.surplus()); len(spare) > 0 {
		if len(spare) > burst && !suspended(t.job) {
			spare = spare[:burst]
		}
		// Without the finalizer, the end of a deleted pod is not counted as a failure.
		// Unchanged keeps it on a pod that has ended meanwhile, which must be counted.
		released := Unpin(spare)
		released.Unchanged = true
		t.plan.Actions = append(t.plan.Actions, released, deletion(spare))
		t.gone(spare)
		return active - len(spare)
	}
	lacking := t.lacking()
	if lacking <= 0 {
		return active
	}
	created := t.create(min(lacking, burst))
	t.plan.created = created
	return active + created
}

// surplus returns the number of active pods that are not wanted.
func (t *tally) surplus() int { return max(0, int(t.pods.Counts.Active)-t.wanted()) }

// lacking returns the number of pods to create, if it is positive and no pods are deleted.
func (t *tally) lacking() int {
	if suspended(t.job) {
		return 0
	}
	lacking := t.wanted() - int(t.pods.Counts.Active)
	if replacesOnlyFailed(t.job) {
		lacking -= int(t.terminating)
	}
	return lacking
}

// gone updates the counts for active pods that the plan deletes.
func (t *tally) gone(pods []*corev1.Pod) {
	t.terminating += int32(len(pods))
	for _, pod := range pods {
		if controllerref.Ready(pod) {
			t.ready--
		}
	}
}

// create creates at most n pods, unless the back-off has not expired.
func (t *tally) create(n int) int {
	job := t.job
	if !perIndex(job) {
		if left := t.failures.remaining(t.now); left > 0 {
			t.waitFor(left)
			return 0
		}
	}
	template := podOf(job)
	var pods []plan.Object
	if indexes.Indexed(job) {
		for _, i := range t.indexesToRun() {
			pods = append(pods, withIndex(job, template, i, attemptsAfter(job, t.indexes.pending[i])))
		}
	} else {
		for range n {
			// Each object is a copy, because encoding an object sets its kind temporarily.
			one := *template
			pods = append(pods, &one)
		}
	}
	if len(pods) == 0 {
		return 0
	}
	t.plan.Creations = append(t.plan.Creations, plan.Action{
		Verb: plan.Create, SlowStart: true, Objects: pods,
		Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created pod: ", Detail: true},
		Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating: ", Detail: true},
	})
	return len(pods)
}

// indexesToRun returns the first indexes that are neither running nor finished, and whose
// back-off has expired.
func (t *tally) indexesToRun() []int {
	if !perIndex(t.job) {
		return t.pods.Free
	}
	due, soonest := t.due(t.pods.Free)
	t.waitFor(soonest)
	return due
}

// spare selects the active pods to delete: in an Indexed Job all pods without a valid index
// or with the index of another pod; then, up to tooMany, the pods that lose the least progress.
func (t *tally) spare(tooMany int) []*corev1.Pod {
	var spare []*corev1.Pod
	left := t.pods.Active
	if indexes.Indexed(t.job) {
		spare, left = t.duplicates()
	}
	lacking := tooMany - len(spare)
	if lacking <= 0 {
		return spare
	}
	left = slices.Clone(left)
	slices.SortFunc(left, leastFarFirst)
	return append(spare, left[:min(lacking, len(left))]...)
}

// duplicates returns the pods without a valid index of their own, and the others.
func (t *tally) duplicates() (spare, left []*corev1.Pod) {
	if t.pods.Counts.Unplaced == 0 {
		return nil, t.pods.Active
	}
	best := map[int]*corev1.Pod{}
	for _, pod := range t.pods.Active {
		i := indexes.Of(pod)
		other, taken := best[i]
		switch {
		case !indexes.Counts(t.job, pod):
			spare = append(spare, pod)
		case !taken:
			best[i] = pod
		case leastFarFirst(pod, other) < 0:
			spare = append(spare, pod)
		default:
			spare = append(spare, other)
			best[i] = pod
		}
	}
	for _, pod := range t.pods.Active {
		if indexes.Counts(t.job, pod) && best[indexes.Of(pod)] == pod {
			left = append(left, pod)
		}
	}
	return spare, left
}

// leastFarFirst orders pods by progress, the least first: not bound, not running, not
// ready, ready for a short time, restarted often, young.
func leastFarFirst(a, b *corev1.Pod) int {
	phases := map[corev1.PodPhase]int{corev1.PodUnknown: 1, corev1.PodRunning: 2}
	sinceA, readyA := controllerref.ReadySince(a)
	sinceB, readyB := controllerref.ReadySince(b)
	byReadiness := 0
	if readyA && readyB {
		byReadiness = sinceB.Compare(sinceA)
	}
	return cmp.Or(
		cmp.Compare(truth(a.Spec.NodeName != ""), truth(b.Spec.NodeName != "")),
		cmp.Compare(phases[a.Status.Phase], phases[b.Status.Phase]),
		cmp.Compare(truth(readyA), truth(readyB)),
		byReadiness,
		cmp.Compare(restarts(b), restarts(a)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.UID, b.UID),
	)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func restarts(pod *corev1.Pod) int32 {
	most := int32(0)
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// allRestarts returns the number of restarts of all containers of a pending or running pod.
func allRestarts(pod *corev1.Pod) int32 {
	if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
		return 0
	}
	all := int32(0)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			all += list[i].RestartCount
		}
	}
	return all
}
