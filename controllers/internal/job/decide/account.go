package decide

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
	"minikcm.dev/minikcm/controllers/internal/podset"
)

// Account holds the pods that one Job controls, or the pods of a namespace that have no controller,
// and counts them as they change, so that the cost of a decision depends only on the changes since
// the last one. Survey counts from scratch; both return the same.
//
// The first Look sets the Job's terms. Look with other terms counts all pods again.
type Account struct {
	podset.Owned[standing]
	// terms is a Job with only the fields that its pods are counted by; nil: none yet.
	terms *batchv1.Job
	sums
}

// sums holds the totals over the selected pods.
type sums struct {
	counts Counts
	// ended has the pods of Pods.Ended; fatal has the pods of which Pods.Fatal is the first.
	ended, fatal map[types.NamespacedName]*corev1.Pod
	// tracked has the pods with the finalizer by UID.
	tracked map[types.UID]*corev1.Pod
	// running and leaving have the valid indexes of active and of terminating pods.
	running, leaving indexes.Bag
	// invalid is the number of active pods without a valid index.
	invalid int32
}

// standing is a pod's contribution to the sums of its account.
type standing struct {
	active, ready, terminating, tracked bool
	// index is of an active or terminating pod of an Indexed Job; indexes.None if it is not
	// valid.
	index    int
	restarts int32
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	a := &Account{}
	a.Owned = podset.New[standing](a)
	return a
}

func newSums() sums {
	return sums{ended: map[types.NamespacedName]*corev1.Pod{}, fatal: map[types.NamespacedName]*corev1.Pod{}, tracked: map[types.UID]*corev1.Pod{}}
}

// Add implements podset.Sums.
func (a *Account) Add(key types.NamespacedName, e *podset.Entry[standing]) {
	pod, job := e.Pod, a.terms
	e.Status = standing{
		active: controllerref.Active(pod), terminating: controllerref.Terminating(pod), tracked: Tracked(pod),
		index: indexes.None, restarts: allRestarts(pod),
	}
	e.Status.ready = e.Status.active && controllerref.Ready(pod)
	if indexes.Indexed(job) && indexes.Counts(job, pod) {
		e.Status.index = indexes.Of(pod)
	}
	a.add(e.Status, 1)
	if e.Status.tracked {
		a.tracked[pod.UID] = pod
	}
	isFailed := failed(job, pod)
	if e.Status.tracked && (isFailed || pod.Status.Phase == corev1.PodSucceeded) {
		a.ended[key] = pod
	}
	if isFailed && judge(job, pod).action == batchv1.PodFailurePolicyActionFailJob {
		a.fatal[key] = pod
	}
}

// Remove implements podset.Sums.
func (a *Account) Remove(key types.NamespacedName, e *podset.Entry[standing]) {
	a.add(e.Status, -1)
	if e.Status.tracked {
		delete(a.tracked, e.Pod.UID)
	}
	delete(a.ended, key)
	delete(a.fatal, key)
}

// add adds the numbers of a pod, or subtracts them if n is -1.
func (s *sums) add(of standing, n int32) {
	s.counts.Restarts += n * of.restarts
	if of.active {
		s.counts.Active += n
		addIndex(&s.running, of.index, n)
		if of.index == indexes.None {
			s.invalid += n
		}
	}
	if of.ready {
		s.counts.Ready += n
	}
	if of.terminating {
		s.counts.Terminating += n
		addIndex(&s.leaving, of.index, n)
	}
}

func addIndex(bag *indexes.Bag, index int, n int32) {
	switch {
	case index == indexes.None:
	case n > 0:
		bag.Add(index)
	default:
		bag.Remove(index)
	}
}

// Look summarizes the Job's pods for a decision at that time. orphans holds the pods of
// its namespace that have no controller, and known the failures before; nil: they are not
// known.
func (a *Account) Look(job *batchv1.Job, orphans *Account, known *Failures, now time.Time) (Pods, error) {
	if err := a.agree(job); err != nil {
		return Pods{}, err
	}
	adopt, release := a.Claim(job, &orphans.Owned)
	if len(adopt) > 0 { // which is rare
		all := a.Pods(func(*podset.Entry[standing]) bool { return true })
		found, err := Survey(job, append(all, adopt...), known, now)
		found.Release = release
		return found, err
	}
	found := Pods{Counts: a.counts, Release: release, Ended: byName(a.ended), Held: sets.Set[types.UID]{}}
	if indexes.Indexed(job) {
		found.Counts.Unplaced = a.invalid + int32(a.running.Surplus())
	}
	if fatal := byName(a.fatal); len(fatal) > 0 {
		found.Fatal = fatal[0]
	}
	if listed := job.Status.UncountedTerminatedPods; listed != nil {
		a.hold(found.Held, listed.Succeeded)
		a.hold(found.Held, listed.Failed)
	}
	if perIndex(job) {
		found.Busy = sets.Set[int]{}
		for _, i := range indexes.All(found.Ended) {
			if a.running.Has(i) {
				found.Busy.Insert(i)
			}
		}
	}
	found.complete(job, known, now, a)
	return found, nil
}

func (a *Account) hold(held sets.Set[types.UID], uids []types.UID) {
	for _, uid := range uids {
		if a.tracked[uid] != nil {
			held.Insert(uid)
		}
	}
}

// agree counts all pods again if the Job's terms have changed.
func (a *Account) agree(job *batchv1.Job) error {
	spec := batchv1.JobSpec{
		Selector: job.Spec.Selector, CompletionMode: job.Spec.CompletionMode, Completions: job.Spec.Completions,
		PodReplacementPolicy: job.Spec.PodReplacementPolicy, PodFailurePolicy: job.Spec.PodFailurePolicy,
	}
	if a.terms != nil && equality.Semantic.DeepEqual(a.terms.Spec, spec) {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return fmt.Errorf("reading the selector of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	a.terms, a.sums = &batchv1.Job{Spec: spec}, newSums()
	a.Recount(selector)
	return nil
}

func byName[K comparable](pods map[K]*corev1.Pod) []*corev1.Pod {
	sorted := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		sorted = append(sorted, pod)
	}
	podset.SortByName(sorted)
	return sorted
}

func (a *Account) past() []*corev1.Pod {
	return a.Pods(func(e *podset.Entry[standing]) bool {
		return controllerref.Ended(e.Pod) || e.Status.tracked && failed(a.terms, e.Pod)
	})
}

func (a *Account) active() []*corev1.Pod {
	return a.Pods(func(e *podset.Entry[standing]) bool { return e.Status.active })
}

func (a *Account) pinned() []*corev1.Pod { return byName(a.tracked) }

func (a *Account) free(settled indexes.Set, n, limit int, leaving bool) []int {
	if leaving {
		return settled.Free(n, limit, &a.running, &a.leaving)
	}
	return settled.Free(n, limit, &a.running)
}
