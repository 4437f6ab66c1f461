package decide

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// Foreign reports whether another controller manages the Job.
func Foreign(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
}

// Snapshot is the input of a decision besides the time. The decision does not change it.
type Snapshot struct {
	Job *batchv1.Job
	// Pods summarizes the Job's pods. An Account or a Survey returns it, for the same time and the
	// same failures. It is not read if the Job is Idle.
	Pods Pods
	// At is the time of Pods and of the decision.
	At time.Time
	// Failures are the failures before this decision; nil: they are unknown, and derived from the
	// pods.
	Failures *Failures
}

// Plan is the decision about one Job. It is executed in the order Actions, Creations,
// status, Untrack. The events are about the status.
type Plan struct {
	plan.Plan[batchv1.JobStatus]
	// Creations may fail without ending the plan.
	Creations []plan.Action
	// Untrack is executed only after the status is stored.
	Untrack []plan.Action
	// Failures have to be passed to the next decision after the status is stored.
	Failures Failures
	created  int
}

// Job returns the next actions of the Job, and its status. The caller ensures that the
// snapshot includes its own earlier writes.
func Job(in Snapshot, now time.Time) (Plan, error) {
	job := in.Job
	if Idle(job) {
		return Plan{}, nil
	}
	if mode := job.Spec.CompletionMode; mode != nil && *mode != batchv1.NonIndexedCompletion && *mode != batchv1.IndexedCompletion {
		return Plan{Plan: plan.Plan[batchv1.JobStatus]{Events: []plan.Event{{
			Type: corev1.EventTypeWarning, Reason: "UnknownCompletionMode", Message: "Skipped Job sync because completion mode is unknown",
		}}}}, nil
	}
	t := newTally(job, in.Pods, in.Failures, now)
	t.plan.Failures = t.failures
	t.plan.Actions = append(t.plan.Actions, pinning(plan.Release, in.Pods.Release)...)
	t.plan.Actions = append(t.plan.Actions, pinning(plan.Adopt, in.Pods.Adopt)...)
	t.judgeJob()
	t.decide()
	return t.plan, nil
}

// decide fills the plan after the verdict is known.
func (t *tally) decide() {
	status := t.job.Status.DeepCopy()
	active := int(t.pods.Counts.Active)
	if t.verdict != nil {
		if active > 0 {
			t.plan.Actions = append(t.plan.Actions, deletion(t.pods.Active))
			t.gone(t.pods.Active)
			active = 0
		}
	} else {
		if t.job.DeletionTimestamp == nil {
			active = t.scale()
		}
		if t.complete(active) {
			t.verdict = conditions.New(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached,
				"Reached expected number of succeeded pods", t.now)
		} else if t.job.DeletionTimestamp == nil {
			status.StartTime = t.startTime()
			t.suspendOrResume(status)
		}
	}
	if t.verdict != nil && status.StartTime == nil {
		// A finished Job has a start time, even if it never ran.
		status.StartTime = &metav1.Time{Time: t.now}
	}
	status.Active, status.Ready, status.Terminating = int32(active), &t.ready, &t.terminating
	more := t.track(status)
	if t.verdict != nil {
		conditions.Set(status, t.verdict)
		if !more && active == 0 && t.terminating == 0 && len(t.plan.Untrack) == 0 && settled(status) {
			t.finish(status)
		}
	}
	t.plan.Status = status
}

// complete reports whether the Job's completions are reached and no pod is active.
func (t *tally) complete(active int) bool {
	if t.job.Spec.Completions == nil {
		return t.succeeded > 0 && active == 0
	}
	return int(t.succeeded) >= indexes.Completions(t.job) && active == 0
}

// mayComplete reports whether the Job is complete unless too many pods are active after the
// decision.
func (t *tally) mayComplete() bool {
	if t.job.Spec.Completions == nil && !suspended(t.job) {
		return t.complete(int(t.pods.Counts.Active))
	}
	return t.complete(0)
}

func settled(status *batchv1.JobStatus) bool {
	return len(status.UncountedTerminatedPods.Succeeded)+len(status.UncountedTerminatedPods.Failed) == 0
}

func (t *tally) suspendOrResume(status *batchv1.JobStatus) {
	if suspended(t.job) {
		if conditions.Set(status, conditions.New(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", t.now)) {
			t.record(corev1.EventTypeNormal, "Suspended", "Job suspended")
		}
		return
	}
	if conditions.Set(status, conditions.New(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", t.now)) {
		t.record(corev1.EventTypeNormal, "Resumed", "Job resumed")
	}
}

func (t *tally) record(kind, reason, message string) {
	t.plan.Events = append(t.plan.Events, plan.Event{Type: kind, Reason: reason, Message: message})
}

// finish sets the final condition that follows from the verdict.
func (t *tally) finish(status *batchv1.JobStatus) {
	t.plan.RequeueAfter = 0
	if t.failing() {
		conditions.Set(status, conditions.New(batchv1.JobFailed, corev1.ConditionTrue, t.verdict.Reason, t.verdict.Message, t.now))
		t.record(corev1.EventTypeWarning, t.verdict.Reason, t.verdict.Message)
		return
	}
	conditions.Set(status, conditions.New(batchv1.JobComplete, corev1.ConditionTrue, t.verdict.Reason, t.verdict.Message, t.now))
	status.CompletionTime = &metav1.Time{Time: t.now}
	if t.job.Spec.Completions != nil && int(status.Succeeded) > indexes.Completions(t.job) {
		t.record(corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	t.record(corev1.EventTypeNormal, "Completed", "Job completed")
}

// Conclude returns the status to write after created pods were created, or nil if the Job
// has that status already. Pods that could not be created are not active.
func Conclude(job *batchv1.Job, p Plan, created int) *batchv1.JobStatus {
	if p.Status == nil {
		return nil
	}
	status := *p.Status
	status.Active -= int32(p.created - created)
	if equality.Semantic.DeepEqual(status, job.Status) {
		return nil
	}
	return &status
}

// pinned returns the Job's pods. Those to adopt get the finalizer.
func pinned(claims controllerref.Claims[*corev1.Pod]) []*corev1.Pod {
	if len(claims.Adopt) == 0 {
		return claims.Owned
	}
	pods := slices.Clone(claims.Owned)
	for i, pod := range pods {
		if slices.Contains(claims.Adopt, pod) && !Tracked(pod) {
			adopted := *pod
			adopted.Finalizers = append(slices.Clip(pod.Finalizers), batchv1.JobTrackingFinalizer)
			pods[i] = &adopted
		}
	}
	return pods
}

func pinning(verb plan.Verb, pods []*corev1.Pod) []plan.Action {
	if len(pods) == 0 {
		return nil
	}
	return []plan.Action{{Verb: verb, Objects: plan.Objects(pods), Finalizers: []string{batchv1.JobTrackingFinalizer}}}
}

// Unpin returns the action that removes the finalizer from the pods, of which there is at
// least one.
func Unpin(pods []*corev1.Pod) plan.Action { return pinning(plan.Unpin, pods)[0] }

func deletion(pods []*corev1.Pod) plan.Action {
	return plan.Action{
		Verb: plan.Delete, Objects: plan.Objects(pods),
		Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: ", Detail: true},
		Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: ", Detail: true},
	}
}
