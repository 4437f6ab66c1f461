package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/decide"
	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/loop"
)

// Orphans removes the finalizer from pods that no Job will count, because their Job is gone
// or has finished. Its keys are pods.
type Orphans struct {
	jobs     batchlisters.JobLister
	pods     corelisters.PodLister
	owned    dependents.Index[*corev1.Pod]
	executor executor.Executor
}

// NewOrphans returns a reconciler of orphans. It adds the index that it needs to the cache
// of pods.
func NewOrphans(s Sources) (*Orphans, error) {
	o := &Orphans{jobs: batchlisters.NewJobLister(s.Jobs), pods: corelisters.NewPodLister(s.Pods), executor: s.Executor}
	var err error
	if o.owned, err = dependents.NewIndex[*corev1.Pod](s.Pods); err != nil {
		return nil, fmt.Errorf("preparing the cache of pods: %w", err)
	}
	return o, nil
}

// Reconcile checks again whether the pod is abandoned, because events of pods and Jobs
// arrive in no common order.
func (o *Orphans) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	pod, err := o.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	if !o.abandoned(pod) {
		return loop.Result{}, nil
	}
	if lives, err := o.jobLives(ctx, pod); lives || err != nil {
		return loop.Result{}, err
	}
	return executor.Settle(loop.Result{}, o.executor.Act(ctx, pod, []plan.Action{decide.Unpin([]*corev1.Pod{pod})}))
}

// jobLives reads a Job that is not in the cache from the API, because the pod cache may be ahead of
// the Job cache.
func (o *Orphans) jobLives(ctx context.Context, pod *corev1.Pod) (bool, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false, nil
	}
	if known, err := o.jobs.Jobs(pod.Namespace).Get(ref.Name); err == nil && known.UID == ref.UID {
		return false, nil // the Job has finished
	}
	live, err := o.executor.Writer.Get(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: ref.Name}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting Job %s/%s of pod %s: %w", pod.Namespace, ref.Name, pod.Name, err)
	}
	job, ok := live.(*batchv1.Job)
	return ok && job.UID == ref.UID && conditions.Finished(job) == nil, nil
}

// abandoned reports whether the pod has the finalizer but no unfinished Job that would
// remove it.
func (o *Orphans) abandoned(pod *corev1.Pod) bool {
	if !decide.Tracked(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return true
	}
	if ref.Kind != decide.Kind.Kind || ref.APIVersion != batchv1.SchemeGroupVersion.String() {
		return false
	}
	job, err := o.jobs.Jobs(pod.Namespace).Get(ref.Name)
	if err != nil || job.UID != ref.UID {
		return true
	}
	return !decide.Foreign(job) && conditions.Finished(job) != nil
}

// OnPod enqueues the pod if it is abandoned.
func (o *Orphans) OnPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || ev.Type == loop.Deleted || !o.abandoned(pod) {
		return nil
	}
	return loop.Self(ev)
}

// OnJob enqueues all pods of a Job that has finished or is gone.
func (o *Orphans) OnJob(ev loop.Event) []types.NamespacedName {
	job, ok := ev.Object.(*batchv1.Job)
	if !ok || ev.Type != loop.Deleted && conditions.Finished(job) == nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, pod := range o.owned.Of(job.UID) {
		if decide.Tracked(pod) {
			keys = append(keys, loop.KeyOf(pod))
		}
	}
	return keys
}
