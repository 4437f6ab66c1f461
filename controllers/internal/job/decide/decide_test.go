package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

var now = time.Unix(1_000_000, 0)

type jobOption func(*batchv1.Job)

// newJob returns a Job that was started a minute ago and wants six completions, three at a
// time.
func newJob(opts ...jobOption) *batchv1.Job {
	labels := map[string]string{"job": "j"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "j", UID: "job"},
		Spec: batchv1.JobSpec{
			Completions: ptr.To[int32](6), Parallelism: ptr.To[int32](3), BackoffLimit: ptr.To[int32](6),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c"}},
			}},
		},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: now.Add(-time.Minute)}, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}},
	}
	for _, o := range opts {
		o(job)
	}
	return job
}

func spec(change func(*batchv1.JobSpec)) jobOption {
	return func(job *batchv1.Job) { change(&job.Spec) }
}

func status(change func(*batchv1.JobStatus)) jobOption {
	return func(job *batchv1.Job) { change(&job.Status) }
}

func indexedJob(job *batchv1.Job) { job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion) }

func limitPerIndex(n int32) jobOption {
	return spec(func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex, s.BackoffLimit = &n, ptr.To[int32](1<<31-1) })
}

func onFailure(rules ...batchv1.PodFailurePolicyRule) jobOption {
	return spec(func(s *batchv1.JobSpec) { s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} })
}

func onExit(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
	}}
}

// snapshot returns the snapshot of these pods.
func snapshot(t testing.TB, job *batchv1.Job, pods []*corev1.Pod, failures *Failures) Snapshot {
	t.Helper()
	in := Snapshot{Job: job, At: now, Failures: failures}
	if !Idle(job) {
		var err error
		if in.Pods, err = Survey(job, pods, failures, now); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

type podOption func(*corev1.Pod)

// newPod returns a running pod of the Job.
func newPod(name string, opts ...podOption) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			Labels: map[string]string{"job": "j"}, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{{UID: "job", Controller: &yes}},
		},
		Spec:   corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, o := range opts {
		o(p)
	}
	return p
}

func succeeded(p *corev1.Pod) { ended(corev1.PodSucceeded, 0, time.Minute)(p) }

func broken(p *corev1.Pod) { exited(1)(p) }

func exited(code int32) podOption {
	return ended(corev1.PodFailed, code, time.Minute)
}

func ended(phase corev1.PodPhase, code int32, ago time.Duration) podOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(now.Add(-ago))},
		}}}
	}
}

func counted(p *corev1.Pod) { p.Finalizers = nil }

func going(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

func index(i int) podOption {
	return func(p *corev1.Pod) {
		p.Annotations = set(p.Annotations, batchv1.JobCompletionIndexAnnotation, fmt.Sprint(i))
	}
}

func failedBefore(n int) podOption {
	return func(p *corev1.Pod) {
		p.Annotations = set(p.Annotations, batchv1.JobIndexFailureCountAnnotation, fmt.Sprint(n))
	}
}

func restarted(n int32) podOption {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
}

// summary formats a plan: each action's verb and names, or what is created; then the
// status, its true conditions, events, and the timer.
func summary(p Plan) []string {
	var lines []string
	for _, actions := range [][]plan.Action{p.Actions, p.Creations} {
		lines = append(lines, actionLines(actions)...)
	}
	if s := p.Status; s != nil {
		line := fmt.Sprintf("active %d succeeded %d failed %d", s.Active, s.Succeeded, s.Failed)
		if u := s.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) > 0 {
			line += fmt.Sprintf(" uncounted %v %v", u.Succeeded, u.Failed)
		}
		if s.CompletedIndexes != "" {
			line += " completed " + s.CompletedIndexes
		}
		if s.FailedIndexes != nil {
			line += " lost " + *s.FailedIndexes
		}
		lines = append(lines, line)
		for _, c := range s.Conditions {
			lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	for _, line := range actionLines(p.Untrack) {
		lines = append(lines, "then "+line)
	}
	for _, e := range p.Events {
		lines = append(lines, fmt.Sprintf("event %s %s: %s", e.Type, e.Reason, e.Message))
	}
	if p.RequeueAfter > 0 {
		lines = append(lines, "again after "+p.RequeueAfter.String())
	}
	return lines
}

func actionLines(actions []plan.Action) []string {
	var lines []string
	for _, a := range actions {
		names := make([]string, len(a.Objects))
		for i, o := range a.Objects {
			names[i] = o.GetName()
			if names[i] == "" {
				names[i] = o.GetGenerateName()
			}
			if n, ok := o.GetAnnotations()[batchv1.JobIndexFailureCountAnnotation]; ok && a.Verb == plan.Create {
				names[i] += "(" + n + ")"
			}
		}
		lines = append(lines, string(a.Verb)+" "+strings.Join(names, " "))
	}
	return lines
}

// decideCase is a Job with its pods, and the plan expected for them.
type decideCase struct {
	name     string
	job      *batchv1.Job
	pods     []*corev1.Pod
	failures *Failures
	want     []string
}

func runCases(t *testing.T, cases []decideCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Job(snapshot(t, tc.job, tc.pods, tc.failures), now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, summary(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideHowManyRun(t *testing.T) {
	runCases(t, []decideCase{
		{"a new Job starts", newJob(), nil, nil, []string{"create j- j- j-", "active 3 succeeded 0 failed 0"}},
		{"no more than are to complete", newJob(status(func(s *batchv1.JobStatus) { s.Succeeded = 5 })), nil, nil, []string{"create j-", "active 1 succeeded 5 failed 0"}},
		{
			"parallelism is lowered: not yet on a node first", newJob(spec(func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](1) })),
			[]*corev1.Pod{newPod("p"), newPod("q", func(p *corev1.Pod) { p.Spec.NodeName = "" })},
			nil,
			[]string{"unpin q", "delete q", "active 1 succeeded 0 failed 0"},
		},
		{
			"a work queue's first success begins its end", newJob(spec(func(s *batchv1.JobSpec) { s.Completions = nil })),
			[]*corev1.Pod{newPod("p"), newPod("q", succeeded)},
			nil,
			[]string{"active 1 succeeded 0 failed 0 uncounted [q] []", "then unpin q"},
		},
		{
			"a pod that is being deleted has failed and is replaced in time", newJob(),
			[]*corev1.Pod{newPod("p"), newPod("q"), newPod("r", going)},
			&Failures{},
			[]string{"active 2 succeeded 0 failed 0 uncounted [] [r]", "then unpin r", "again after 10s"},
		},
		{
			"or is waited for", newJob(spec(func(s *batchv1.JobSpec) { s.PodReplacementPolicy = ptr.To(batchv1.Failed) })),
			[]*corev1.Pod{newPod("p"), newPod("q"), newPod("r", going)},
			&Failures{},
			[]string{"active 2 succeeded 0 failed 0"},
		},
		{
			"suspended", newJob(spec(func(s *batchv1.JobSpec) { s.Suspend = ptr.To(true) })),
			[]*corev1.Pod{newPod("p")},
			nil,
			[]string{"unpin p", "delete p", "active 0 succeeded 0 failed 0", "Suspended=True JobSuspended: Job suspended", "event Normal Suspended: Job suspended"},
		},
		{
			"resumed", newJob(status(func(s *batchv1.JobStatus) {
				s.StartTime, s.Conditions = nil, []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
			})), nil, nil,
			[]string{"create j- j- j-", "active 3 succeeded 0 failed 0", "Suspended=False JobResumed: Job resumed", "event Normal Resumed: Job resumed"},
		},
		{"of another controller", newJob(spec(func(s *batchv1.JobSpec) { s.ManagedBy = ptr.To("example.com/x") })), nil, nil, nil},
		{"finished", newJob(status(func(s *batchv1.JobStatus) {
			s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})), nil, nil, nil},
		{
			"being deleted", newJob(func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: now} }),
			[]*corev1.Pod{newPod("p"), newPod("q", succeeded)},
			nil,
			[]string{"active 1 succeeded 0 failed 0 uncounted [q] []", "then unpin p q"},
		},
		{
			"an orphan is adopted with a finalizer, a stranger released", newJob(spec(func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](1) })),
			[]*corev1.Pod{
				newPod("o", func(p *corev1.Pod) { p.OwnerReferences, p.Finalizers = nil, nil }),
				newPod("s", func(p *corev1.Pod) { p.Labels = nil }),
			},
			nil,
			[]string{"release s", "adopt o", "active 1 succeeded 0 failed 0"},
		},
		{"no completions are asked for", newJob(spec(func(s *batchv1.JobSpec) { s.Completions = ptr.To[int32](0) })), nil, nil, []string{
			"active 0 succeeded 0 failed 0",
			"SuccessCriteriaMet=True CompletionsReached: Reached expected number of succeeded pods",
			"Complete=True CompletionsReached: Reached expected number of succeeded pods",
			"event Normal Completed: Job completed",
		}},
	})
}

func TestDecideBackOff(t *testing.T) {
	one := spec(func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](1) })
	justNow := ended(corev1.PodFailed, 1, 4*time.Second)
	runCases(t, []decideCase{
		{"the first failure", newJob(one), []*corev1.Pod{newPod("p", justNow)}, &Failures{}, []string{"active 0 succeeded 0 failed 0 uncounted [] [p]", "then unpin p", "again after 6s"}},
		{"the third", newJob(one), []*corev1.Pod{newPod("p", justNow)}, &Failures{Count: 2}, []string{"active 0 succeeded 0 failed 0 uncounted [] [p]", "then unpin p", "again after 36s"}},
		{"the longest", newJob(one), nil, &Failures{Count: 60, Last: now}, []string{"active 0 succeeded 0 failed 0", "again after 10m0s"}},
		{"a success ends it", newJob(one), []*corev1.Pod{newPod("q", ended(corev1.PodSucceeded, 0, time.Second))}, &Failures{Count: 3, Last: now}, []string{"create j-", "active 1 succeeded 0 failed 0 uncounted [q] []", "then unpin q"}},
		{"after a restart it is reckoned from the pods", newJob(one), []*corev1.Pod{newPod("p", justNow, counted), newPod("q", justNow, counted)}, nil, []string{"active 0 succeeded 0 failed 0", "again after 16s"}},
		{"it is over", newJob(one), []*corev1.Pod{newPod("p", broken, counted)}, nil, []string{"create j-", "active 1 succeeded 0 failed 0"}},
	})
}

func TestDecideEndings(t *testing.T) {
	target := func(reason, message string) string { return "FailureTarget=True " + reason + ": " + message }
	limit := func(n int32) jobOption { return spec(func(s *batchv1.JobSpec) { s.BackoffLimit = &n }) }
	decided := func(kind batchv1.JobConditionType, reason string) jobOption {
		return status(func(s *batchv1.JobStatus) {
			s.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "m"}}
		})
	}
	runCases(t, []decideCase{
		{"the last success is counted first", newJob(status(func(s *batchv1.JobStatus) { s.Succeeded = 5 })), []*corev1.Pod{newPod("p", succeeded)}, nil, []string{
			"active 0 succeeded 5 failed 0 uncounted [p] []", "SuccessCriteriaMet=True CompletionsReached: Reached expected number of succeeded pods", "then unpin p",
		}},
		{"then the Job is complete", newJob(decided(batchv1.JobSuccessCriteriaMet, "r"), status(func(s *batchv1.JobStatus) {
			s.Succeeded, s.UncountedTerminatedPods.Succeeded = 5, []types.UID{"p"}
		})), []*corev1.Pod{newPod("p", succeeded, counted)}, nil, []string{
			"active 0 succeeded 6 failed 0", "SuccessCriteriaMet=True r: m", "Complete=True r: m", "event Normal Completed: Job completed",
		}},
		{"the back-off limit", newJob(limit(0)), []*corev1.Pod{newPod("p", broken), newPod("q")}, nil, []string{
			"delete q", "active 0 succeeded 0 failed 0 uncounted [] [p q]", target("BackoffLimitExceeded", "Job has reached the specified backoff limit"), "then unpin p q",
		}},
		{"waits for pods that are still there", newJob(decided(batchv1.JobFailureTarget, "r")), []*corev1.Pod{newPod("q", going, counted)}, nil, []string{
			"active 0 succeeded 0 failed 0", "FailureTarget=True r: m",
		}},
		{"and then has failed", newJob(decided(batchv1.JobFailureTarget, "r")), nil, nil, []string{
			"active 0 succeeded 0 failed 0", "FailureTarget=True r: m", "Failed=True r: m", "event Warning r: m",
		}},
		{"containers restarted too often", newJob(limit(3), spec(func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })), []*corev1.Pod{newPod("p", restarted(3))}, nil, []string{
			"delete p", "active 0 succeeded 0 failed 0 uncounted [] [p]", target("BackoffLimitExceeded", "Job has reached the specified backoff limit"), "then unpin p",
		}},
		{"the deadline", newJob(spec(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr.To[int64](60) })), []*corev1.Pod{newPod("p")}, nil, []string{
			"delete p", "active 0 succeeded 0 failed 0 uncounted [] [p]", target("DeadlineExceeded", "Job was active longer than specified deadline"), "then unpin p",
		}},
		{"a deadline to come", newJob(spec(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds, s.Parallelism = ptr.To[int64](90), ptr.To[int32](1) })), []*corev1.Pod{newPod("p")}, nil, []string{
			"active 1 succeeded 0 failed 0", "again after 30s",
		}},
	})
}

func TestDecideFailurePolicy(t *testing.T) {
	one := spec(func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](1) })
	disrupted := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	}
	onDisruption := func(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}
	}
	runCases(t, []decideCase{
		{"FailJob by exit code", newJob(one, onFailure(onExit(batchv1.PodFailurePolicyActionIgnore, 2), onExit(batchv1.PodFailurePolicyActionFailJob, 42))), []*corev1.Pod{newPod("p", exited(42))}, nil, []string{
			"active 0 succeeded 0 failed 0 uncounted [] [p]",
			"FailureTarget=True PodFailurePolicy: Container c for pod a/p failed with exit code 42 matching FailJob rule at index 1", "then unpin p",
		}},
		{"FailJob by condition", newJob(one, onFailure(onDisruption(batchv1.PodFailurePolicyActionFailJob))), []*corev1.Pod{newPod("p", broken, disrupted)}, nil, []string{
			"active 0 succeeded 0 failed 0 uncounted [] [p]",
			"FailureTarget=True PodFailurePolicy: Pod a/p has condition DisruptionTarget matching FailJob rule at index 0", "then unpin p",
		}},
		{"Ignore", newJob(one, spec(func(s *batchv1.JobSpec) { s.BackoffLimit = ptr.To[int32](0) }), onFailure(onDisruption(batchv1.PodFailurePolicyActionIgnore))), []*corev1.Pod{newPod("p", broken, disrupted)}, nil, []string{
			"create j-", "active 1 succeeded 0 failed 0", "then unpin p",
		}},
		{"Count", newJob(one, onFailure(onExit(batchv1.PodFailurePolicyActionCount, 1))), []*corev1.Pod{newPod("p", broken)}, nil, []string{
			"create j-", "active 1 succeeded 0 failed 0 uncounted [] [p]", "then unpin p",
		}},
		{"FailIndex", newJob(one, indexedJob, limitPerIndex(3), onFailure(onExit(batchv1.PodFailurePolicyActionFailIndex, 1))), []*corev1.Pod{newPod("p", broken, index(0))}, nil, []string{
			"create j-1-(0)", "active 1 succeeded 0 failed 0 uncounted [] [p] lost 0", "then unpin p",
		}},
		{"what is being deleted is waited for", newJob(one, onFailure()), []*corev1.Pod{newPod("p", going)}, nil, []string{"active 0 succeeded 0 failed 0"}},
	})
}

func TestDecideIndexed(t *testing.T) {
	completed := func(text string, n int32) jobOption {
		return status(func(s *batchv1.JobStatus) { s.CompletedIndexes, s.Succeeded = text, n })
	}
	success := func(rule batchv1.SuccessPolicyRule) jobOption {
		return spec(func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](6)}, rule}}
		})
	}
	met := []string{
		"delete r", "active 0 succeeded 2 failed 0 completed 2,4",
		"SuccessCriteriaMet=True SuccessPolicy: Matched rules at index 1", "then unpin r",
	}
	runCases(t, []decideCase{
		{"the first indexes", newJob(indexedJob), nil, nil, []string{"create j-0- j-1- j-2-", "active 3 succeeded 0 failed 0"}},
		{"those that neither run nor are complete", newJob(indexedJob, completed("0,3", 2)), []*corev1.Pod{newPod("p", index(1))}, nil, []string{"create j-2- j-4-", "active 3 succeeded 2 failed 0 completed 0,3"}},
		{"a success counts at once", newJob(indexedJob, completed("0,1", 2)), []*corev1.Pod{newPod("p", index(2), succeeded), newPod("q", index(3)), newPod("r", index(4))}, nil, []string{
			"create j-5-", "active 3 succeeded 3 failed 0 completed 0-2", "then unpin p",
		}},
		{"a success of a completed index does not", newJob(indexedJob, completed("0-2", 3)), []*corev1.Pod{newPod("p", index(2), succeeded), newPod("q", index(3)), newPod("r", index(4)), newPod("s", index(5))}, nil, []string{
			"active 3 succeeded 3 failed 0 completed 0-2", "then unpin p",
		}},
		{"two of an index, and one of none", newJob(indexedJob), []*corev1.Pod{newPod("p", index(0)), newPod("q", index(0), func(p *corev1.Pod) { p.Spec.NodeName = "" }), newPod("r", index(9)), newPod("s")}, nil, []string{
			"unpin q r s", "delete q r s", "active 1 succeeded 0 failed 0",
		}},
		{"enough of the named indexes", newJob(indexedJob, completed("2,4", 2), success(batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To("1-4"), SucceededCount: ptr.To[int32](2)})), []*corev1.Pod{newPod("r", index(0))}, nil, met},
		{"all of the named indexes", newJob(indexedJob, completed("2,4", 2), success(batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To("2,4")})), []*corev1.Pod{newPod("r", index(0))}, nil, met},
		{"enough of any", newJob(indexedJob, completed("2,4", 2), success(batchv1.SuccessPolicyRule{SucceededCount: ptr.To[int32](2)})), []*corev1.Pod{newPod("r", index(0))}, nil, met},
	})
}

func TestDecidePerIndex(t *testing.T) {
	one := spec(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = ptr.To[int32](1), ptr.To[int32](2) })
	justNow := ended(corev1.PodFailed, 1, 4*time.Second)
	done := func(text string) jobOption {
		return status(func(s *batchv1.JobStatus) { s.CompletedIndexes = text })
	}
	runCases(t, []decideCase{
		{"a failed index waits, with its pod's finalizer", newJob(one, indexedJob, limitPerIndex(1), done("1")), []*corev1.Pod{newPod("p", index(0), failedBefore(0), justNow)}, nil, []string{
			"active 0 succeeded 1 failed 0 completed 1 lost ", "again after 6s",
		}},
		{"then it is tried again", newJob(one, indexedJob, limitPerIndex(1), done("1")), []*corev1.Pod{newPod("p", index(0), failedBefore(0), broken)}, nil, []string{
			"create j-0-(1)", "active 1 succeeded 1 failed 0 completed 1 lost ",
		}},
		{"and only now the failure is counted", newJob(one, indexedJob, limitPerIndex(1), done("1")), []*corev1.Pod{newPod("p", index(0), failedBefore(0), broken), newPod("q", index(0), failedBefore(1))}, nil, []string{
			"active 1 succeeded 1 failed 0 uncounted [] [p] completed 1 lost ", "then unpin p",
		}},
		{"the limit is used up", newJob(one, indexedJob, limitPerIndex(1), done("1")), []*corev1.Pod{newPod("q", index(0), failedBefore(1), broken)}, nil, []string{
			"active 0 succeeded 1 failed 0 uncounted [] [q] completed 1 lost 0", "FailureTarget=True FailedIndexes: Job has failed indexes", "then unpin q",
		}},
		{"another index need not wait", newJob(one, indexedJob, limitPerIndex(1), spec(func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](2) })), []*corev1.Pod{newPod("p", index(0), failedBefore(0), justNow)}, nil, []string{
			"create j-1-(0)", "active 1 succeeded 0 failed 0 lost ", "again after 6s",
		}},
		{"too many have failed", newJob(one, indexedJob, limitPerIndex(0), spec(func(s *batchv1.JobSpec) { s.MaxFailedIndexes = ptr.To[int32](0) })), []*corev1.Pod{newPod("q", index(0), failedBefore(0), broken)}, nil, []string{
			"active 0 succeeded 0 failed 0 uncounted [] [q] lost 0", "FailureTarget=True MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes", "then unpin q",
		}},
	})
}

func TestIndexedPod(t *testing.T) {
	job := newJob(indexedJob, func(j *batchv1.Job) { j.Name = strings.Repeat("x", 60) }, spec(func(s *batchv1.JobSpec) {
		s.Template.Spec.InitContainers = []corev1.Container{{Name: "i", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "own"}}}}
	}))
	pod := withIndex(job, podOf(job), 12, attempts{})
	if want := strings.Repeat("x", 54) + "-12-"; pod.GenerateName != want {
		t.Errorf("generateName = %q, want %q", pod.GenerateName, want)
	}
	if want := job.Name + "-12"; pod.Spec.Hostname != want {
		t.Errorf("hostname = %q, want %q", pod.Spec.Hostname, want)
	}
	if pod.Labels[batchv1.JobCompletionIndexAnnotation] != "12" || pod.Annotations[batchv1.JobCompletionIndexAnnotation] != "12" {
		t.Errorf("labels %v, annotations %v, want the index in both", pod.Labels, pod.Annotations)
	}
	env := pod.Spec.Containers[0].Env
	if len(env) != 1 || env[0].Name != "JOB_COMPLETION_INDEX" || env[0].ValueFrom.FieldRef.FieldPath != "metadata.labels['batch.kubernetes.io/job-completion-index']" {
		t.Errorf("environment = %+v", env)
	}
	if own := pod.Spec.InitContainers[0].Env; len(own) != 1 || own[0].Value != "own" {
		t.Errorf("the template's own variable became %+v", own)
	}
	if !Tracked(pod) {
		t.Errorf("finalizers = %v", pod.Finalizers)
	}
}

// TestConcludeAfterFailedCreation checks that a pod that could not be created is not
// active.
func TestConcludeAfterFailedCreation(t *testing.T) {
	job := newJob()
	p, err := Job(snapshot(t, job, nil, nil), now)
	if err != nil {
		t.Fatal(err)
	}
	for created := range 4 {
		if status := Conclude(job, p, created); status == nil || status.Active != int32(created) {
			t.Errorf("status = %+v, want %d active", status, created)
		}
	}
}

// TestManyEnds checks that one status adds 500 ended pods, and the next ones add the rest.
func TestManyEnds(t *testing.T) {
	job := newJob(spec(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = ptr.To[int32](600), ptr.To[int32](600) }))
	var pods []*corev1.Pod
	for i := range 600 {
		pods = append(pods, newPod(fmt.Sprint("p", i), succeeded))
	}
	p, err := Job(snapshot(t, job, pods, nil), now)
	if err != nil {
		t.Fatal(err)
	}
	if u := p.Status.UncountedTerminatedPods; len(u.Succeeded) != 500 || len(p.Untrack[0].Objects) != 500 {
		t.Errorf("%d are counted, %d lose their finalizers", len(u.Succeeded), len(p.Untrack[0].Objects))
	}
}
