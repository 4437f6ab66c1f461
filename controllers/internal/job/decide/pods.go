package decide

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// Pods summarizes a Job's pods for a decision: the pods that the Job controls and selects, and the
// pods in Adopt, which count as if they already had the finalizer. Lists are sorted by name,
// with the pods of Adopt last.
type Pods struct {
	Counts Counts
	// Ended are the pods with the finalizer that have succeeded or count as failed.
	Ended []*corev1.Pod
	// Fatal is the first failed pod whose failure fails the Job by its podFailurePolicy.
	Fatal *corev1.Pod
	// Held are the UIDs in the status's uncountedTerminatedPods whose pods have the finalizer.
	Held sets.Set[types.UID]
	// Busy are the valid indexes of Ended that an active pod has. It is set if each index has its
	// own back-off limit.
	Busy sets.Set[int]
	// Adopt are the orphans that the Job has yet to adopt. Release are the pods that it
	// controls but does not select.
	Adopt, Release []*corev1.Pod

	// The others are set only for a decision that reads them.

	// Past are the pods that have ended, with the finalizer or without: they are read if the
	// earlier failures are not known.
	Past []*corev1.Pod
	// Active are the active pods: they are read if some are to be deleted.
	Active []*corev1.Pod
	// Pinned are the pods with the finalizer: they are read if all are to lose it.
	Pinned []*corev1.Pod
	// Free are the first indexes to create pods for.
	Free []int
}

// Counts are numbers of pods.
type Counts struct {
	// Active is the number of pods that have not ended and are not being deleted, and Ready the
	// number of ready pods among them.
	Active, Ready int32
	// Terminating is the number of pods that are being deleted and have not ended.
	Terminating int32
	// Unplaced is the number of active pods of an Indexed Job without a valid index of their
	// own.
	Unplaced int32
	// Restarts is the number of restarts of the containers of pending and running pods.
	Restarts int32
}

// source has the pods that only some decisions read.
type source interface {
	past() []*corev1.Pod
	active() []*corev1.Pod
	pinned() []*corev1.Pod
	// free returns the first n indexes below limit that are neither settled nor have an
	// active pod, or, if leaving is set, a terminating one.
	free(settled indexes.Set, n, limit int, leaving bool) []int
}

// Idle reports whether the controller does nothing about the Job, because it has finished or
// another controller manages it.
func Idle(job *batchv1.Job) bool { return conditions.Finished(job) != nil || Foreign(job) }

// complete adds the remaining parts of p that the decision at that time reads.
func (p *Pods) complete(job *batchv1.Job, known *Failures, now time.Time, from source) {
	if known == nil {
		p.Past = from.past()
	}
	t := newTally(job, *p, known, now)
	t.judgeJob()
	going := job.DeletionTimestamp != nil
	switch {
	case t.verdict != nil:
		if p.Counts.Active > 0 {
			p.Active = from.active()
		}
	case going:
	case t.surplus() > 0 || p.Counts.Unplaced > 0:
		p.Active = from.active()
	case t.lacking() > 0 && indexes.Indexed(job):
		p.Free = from.free(t.indexes.succeeded.Union(t.indexes.failed), min(t.lacking(), burst), indexes.Completions(job), replacesOnlyFailed(job))
	}
	if t.verdict != nil || going || t.mayComplete() {
		p.Pinned = from.pinned()
	}
}

// Survey returns the same as an Account, from all pods at once: the pods that the Job controls, and
// the pods without a controller, each sorted by name. It is the definition that accounts are
// compared with.
func Survey(job *batchv1.Job, candidates []*corev1.Pod, known *Failures, now time.Time) (Pods, error) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return Pods{}, fmt.Errorf("reading the selector of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	claims := controllerref.Claim(job, selector, candidates)
	s := survey{job, pinned(claims)}
	p := Pods{Adopt: claims.Adopt, Release: claims.Release, Ended: s.having(s.ended), Held: sets.Set[types.UID]{}}
	for _, pod := range s.pods {
		p.Counts.count(pod)
	}
	placed := indexes.All(s.having(func(pod *corev1.Pod) bool { return controllerref.Active(pod) && indexes.Counts(job, pod) }))
	if indexes.Indexed(job) {
		p.Counts.Unplaced = p.Counts.Active - int32(sets.New(placed...).Len())
	}
	if fatal := s.having(s.fatal); len(fatal) > 0 {
		p.Fatal = fatal[0]
	}
	succeeded, failed := uncounted(&job.Status)
	for _, pod := range s.pinned() {
		if succeeded.Has(pod.UID) || failed.Has(pod.UID) {
			p.Held.Insert(pod.UID)
		}
	}
	if perIndex(job) {
		p.Busy = sets.New(indexes.All(p.Ended)...).Intersection(sets.New(placed...))
	}
	p.complete(job, known, now, s)
	return p, nil
}

func (c *Counts) count(pod *corev1.Pod) {
	if controllerref.Active(pod) {
		c.Active++
		if controllerref.Ready(pod) {
			c.Ready++
		}
	}
	if controllerref.Terminating(pod) {
		c.Terminating++
	}
	c.Restarts += allRestarts(pod)
}

// survey is the source of a Survey.
type survey struct {
	job  *batchv1.Job
	pods []*corev1.Pod
}

func (s survey) having(property func(*corev1.Pod) bool) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(pod *corev1.Pod) bool { return !property(pod) })
}

func (s survey) ended(pod *corev1.Pod) bool {
	return Tracked(pod) && (pod.Status.Phase == corev1.PodSucceeded || failed(s.job, pod))
}

func (s survey) fatal(pod *corev1.Pod) bool {
	return failed(s.job, pod) && judge(s.job, pod).action == batchv1.PodFailurePolicyActionFailJob
}

func (s survey) past() []*corev1.Pod {
	return s.having(func(pod *corev1.Pod) bool { return controllerref.Ended(pod) || s.ended(pod) })
}

func (s survey) active() []*corev1.Pod { return s.having(controllerref.Active) }

func (s survey) pinned() []*corev1.Pod { return s.having(Tracked) }

func (s survey) free(settled indexes.Set, n, limit int, leaving bool) []int {
	return settled.With(indexes.All(s.having(func(pod *corev1.Pod) bool {
		return controllerref.Active(pod) || leaving && controllerref.Terminating(pod)
	}))).Missing(n, limit)
}
