package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/conditions"
	"minikcm.dev/minikcm/controllers/internal/podset"
)

func drawnUIDs(t *rapid.T, label string) []types.UID {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]types.UID{"p1/1", "p2/1", "p3/1", "p4/1", "p5/1", "p6/1"}), 0, 3, rapid.ID).Draw(t, label)
}

// drawnPod returns a pod of the Job, or an orphan.
func drawnPod(t *rapid.T) *corev1.Pod {
	rare := func(label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 0 }
	pod := newPod(rapid.SampledFrom([]string{"p1", "p2", "p3", "p4", "p5", "p6"}).Draw(t, "name"))
	pod.UID += types.UID("/" + rapid.SampledFrom([]string{"1", "1", "2"}).Draw(t, "life"))
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: int32(rapid.IntRange(0, 3).Draw(t, "restarts"))}}
	if controllerref.Ended(pod) {
		exited(int32(rapid.IntRange(1, 3).Draw(t, "code")))(pod)
	}
	if i := rapid.IntRange(-1, 4).Draw(t, "index"); i >= 0 {
		index(i)(pod)
	}
	if rapid.Bool().Draw(t, "ready") {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
	}
	if rare("orphan") {
		pod.OwnerReferences = nil
	}
	if rare("relabelled") {
		pod.Labels = map[string]string{"job": "other"}
	}
	if rare("counted") {
		counted(pod)
	}
	if rare("deleted") {
		going(pod)
	}
	if rare("elsewhere") {
		pod.Namespace, pod.UID = "b", pod.UID+"/b"
	}
	return pod
}

// drawnJob returns the Job with some other fields that its pods are counted by or that
// decide which of them a decision reads.
func drawnJob(t *rapid.T) *batchv1.Job {
	pick := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
	job := newJob()
	job.Spec.Parallelism = ptr.To(int32(rapid.IntRange(0, 6).Draw(t, "parallelism")))
	job.Spec.Completions = ptr.To(int32(rapid.IntRange(1, 6).Draw(t, "completions")))
	job.Spec.BackoffLimit = ptr.To(int32(rapid.IntRange(0, 9).Draw(t, "limit")))
	switch rapid.IntRange(0, 3).Draw(t, "mode") {
	case 0:
		job.Spec.Completions = nil
	case 1:
		indexedJob(job)
	case 2:
		indexedJob(job)
		limitPerIndex(int32(rapid.IntRange(0, 2).Draw(t, "limit of an index")))(job)
	}
	if pick("replaces only failed pods") {
		job.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	if pick("policy") {
		onFailure(onExit(batchv1.PodFailurePolicyActionFailJob, 3), onExit(batchv1.PodFailurePolicyActionIgnore, 2))(job)
	}
	if pick("suspended") {
		job.Spec.Suspend = ptr.To(true)
	}
	if pick("restarts") {
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if pick("deleted") {
		job.DeletionTimestamp = &metav1.Time{Time: now}
	}
	if pick("other selector") {
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"job": "other"}}
	}
	if pick("deadline") {
		job.Spec.ActiveDeadlineSeconds = ptr.To[int64](65)
	}
	if pick("verdict") {
		kind := rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet}).Draw(t, "kind of verdict")
		conditions.Set(&job.Status, conditions.New(kind, corev1.ConditionTrue, "Reason", "message", now))
	}
	job.Status.Succeeded = int32(rapid.IntRange(0, 2).Draw(t, "succeeded"))
	job.Status.CompletedIndexes = rapid.SampledFrom([]string{"", "0", "1,3"}).Draw(t, "completed indexes")
	job.Status.UncountedTerminatedPods.Succeeded, job.Status.UncountedTerminatedPods.Failed = drawnUIDs(t, "uncounted"), drawnUIDs(t, "uncounted failed")
	return job
}

// shownPods are the pods of an account and of the orphans beside it.
type shownPods struct {
	account, orphans *Account
	pods             map[types.NamespacedName]*corev1.Pod
}

func (s *shownPods) set(pod *corev1.Pod) {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	s.unset(key)
	s.pods[key] = pod
	if controllerref.ControllerUID(pod) == "" {
		s.orphans.Set(pod)
	} else {
		s.account.Set(pod)
	}
}

func (s *shownPods) unset(key types.NamespacedName) {
	s.account.Unset(key)
	s.orphans.Unset(key)
	delete(s.pods, key)
	if s.orphans.Len() == 0 {
		s.orphans = NewAccount() // as a tally does
	}
}

// candidates returns the pods in the order of a Survey.
func (s *shownPods) candidates() []*corev1.Pod {
	var owned, orphans []*corev1.Pod
	for _, pod := range s.pods {
		if controllerref.ControllerUID(pod) == "" {
			orphans = append(orphans, pod)
		} else {
			owned = append(owned, pod)
		}
	}
	podset.SortByName(owned)
	podset.SortByName(orphans)
	return append(owned, orphans...)
}

// TestAccountAgreesWithSurvey compares an account with a count from scratch after every
// change of a pod, and with every change of the Job and of the time.
func TestAccountAgreesWithSurvey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shown := &shownPods{NewAccount(), NewAccount(), map[types.NamespacedName]*corev1.Pod{}}
		job := drawnJob(t)
		for range 20 {
			switch pod := drawnPod(t); rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				shown.unset(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
			case 1:
				job = drawnJob(t)
			default:
				shown.set(pod)
			}
			var known *Failures
			if rapid.Bool().Draw(t, "known failures") {
				known = &Failures{}
			}
			at := now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "seconds")) * time.Second)
			want, err := Survey(job, shown.candidates(), known, at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := shown.account.Look(job, shown.orphans, known, at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the account differs (-survey +account):\n%s", diff)
			}
		}
	})
}

// TestDecisionReadsWhatTheSnapshotHas checks that a decision about a snapshot equals the one
// about a snapshot with all pods: the parts that are not set are not read.
func TestDecisionReadsWhatTheSnapshotHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := drawnJob(t)
		shown := &shownPods{NewAccount(), NewAccount(), map[types.NamespacedName]*corev1.Pod{}}
		for range rapid.IntRange(0, 8).Draw(t, "pods") {
			shown.set(drawnPod(t))
		}
		var known *Failures
		if rapid.Bool().Draw(t, "known failures") {
			known = &Failures{}
		}
		found, err := Survey(job, shown.candidates(), known, now)
		if err != nil {
			t.Fatal(err)
		}
		full := found
		s := surveyOf(t, job, shown.candidates())
		full.Active, full.Pinned = s.active(), s.pinned()
		if known == nil {
			full.Past = s.past()
		}
		want, wantErr := Job(Snapshot{Job: job, Pods: full, At: now, Failures: known}, now)
		got, gotErr := Job(Snapshot{Job: job, Pods: found, At: now, Failures: known}, now)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(Plan{})); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("the decision differs (-all +snapshot): %v, %v\n%s", wantErr, gotErr, diff)
		}
	})
}

func surveyOf(t *rapid.T, job *batchv1.Job, pods []*corev1.Pod) survey {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	return survey{job, pinned(controllerref.Claim(job, selector, pods))}
}
