package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/dependents"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/decide"
	"minikcm.dev/minikcm/internal/loop"
)

var controllerOfPod = loop.ControllerOf(decide.Kind.GroupKind())

// OnJob enqueues the Job unless it has finished.
func (r *Reconciler) OnJob(ev loop.Event) []types.NamespacedName {
	r.Expectations.ObserveOwner(ev)
	job, ok := ev.Object.(*batchv1.Job)
	if !ok {
		return nil
	}
	if ev.Type == loop.Deleted || conditions.Finished(job) != nil {
		r.forget(job.UID)
		return nil
	}
	return loop.Self(ev)
}

// ObservePod applies an event of a pod to the accounts of the Jobs. Every event has to be
// passed to it, in the order of delivery.
func (r *Reconciler) ObservePod(ev loop.Event) { r.pods.Observe(ev) }

// OnPod enqueues the Job that controls a pod, or the Jobs that could adopt an orphan.
func (r *Reconciler) OnPod(ev loop.Event) []types.NamespacedName {
	r.Expectations.Observe(ev)
	pod, ok := dependents.Changed(ev, decide.Differs)
	if !ok {
		return nil
	}
	keys := controllerOfPod(ev)
	if ev.Type != loop.Deleted && metav1.GetControllerOfNoCopy(pod) == nil {
		keys = append(keys, r.matching(pod)...)
	}
	return keys
}

// matching returns the Jobs whose selector matches an orphan.
func (r *Reconciler) matching(pod *corev1.Pod) []types.NamespacedName {
	return dependents.Adopters(pod, r.jobs.Jobs(pod.Namespace).List, func(owner *batchv1.Job) *metav1.LabelSelector { return owner.Spec.Selector })
}
