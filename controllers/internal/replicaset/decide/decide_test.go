package decide

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/controllers/internal/replicaset/replicasettest"
)

func age(d time.Duration) replicasettest.Option {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(replicasettest.Now.Add(-d)) }
}

func cost(text string) replicasettest.Option {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.PodDeletionCost: text} }
}

func restarts(n int32) replicasettest.Option {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
}

// summary formats a plan's actions: verb and names, or the number to create.
func summary(p Plan) []string {
	var lines []string
	for _, action := range p.Actions {
		line := string(action.Verb)
		if action.Verb == plan.Create {
			lines = append(lines, fmt.Sprintf("%s %d %s", line, len(action.Objects), action.Objects[0].GetGenerateName()))
			continue
		}
		for _, o := range action.Objects {
			line += " " + o.GetName()
		}
		lines = append(lines, line)
	}
	return lines
}

// snapshot returns the snapshot of these pods.
func snapshot(t testing.TB, rs *appsv1.ReplicaSet, pods ...*corev1.Pod) Snapshot {
	t.Helper()
	found, active, err := Survey(rs, pods, replicasettest.Now)
	if err != nil {
		t.Fatal(err)
	}
	return Snapshot{ReplicaSet: rs, Pods: found, Active: active}
}

func TestDecideActions(t *testing.T) {
	deleted := replicasettest.ReplicaSet(3)
	deleted.DeletionTimestamp = &metav1.Time{Time: replicasettest.Now}
	for name, tt := range map[string]struct {
		rs   *appsv1.ReplicaSet
		pods []*corev1.Pod
		want []string
	}{
		"none yet":             {replicasettest.ReplicaSet(3), nil, []string{"create 3 web-"}},
		"enough":               {replicasettest.ReplicaSet(1), []*corev1.Pod{replicasettest.Pod("p1")}, nil},
		"one ended":            {replicasettest.ReplicaSet(2), []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2", replicasettest.Phase(corev1.PodFailed))}, []string{"create 1 web-"}},
		"one terminating":      {replicasettest.ReplicaSet(2), []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2", replicasettest.Going)}, []string{"create 1 web-"}},
		"orphan adopted":       {replicasettest.ReplicaSet(2), []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2", replicasettest.Orphan)}, []string{"adopt p2"}},
		"relabelled released":  {replicasettest.ReplicaSet(1), []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2", replicasettest.Labelled("app", "db"))}, []string{"release p2"}},
		"too many":             {replicasettest.ReplicaSet(1), []*corev1.Pod{replicasettest.Pod("p1", replicasettest.Ready(time.Minute)), replicasettest.Pod("p2")}, []string{"delete p2"}},
		"adopt, then delete":   {replicasettest.ReplicaSet(1), []*corev1.Pod{replicasettest.Pod("p1", replicasettest.Ready(time.Minute)), replicasettest.Pod("p2", replicasettest.Orphan)}, []string{"adopt p2", "delete p2"}},
		"to none":              {replicasettest.ReplicaSet(0), []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2")}, []string{"delete p1 p2"}},
		"being deleted itself": {deleted, []*corev1.Pod{replicasettest.Pod("p1"), replicasettest.Pod("p2", replicasettest.Orphan)}, nil},
		"burst":                {replicasettest.ReplicaSet(2000), nil, []string{"create 500 web-"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ReplicaSet(snapshot(t, tt.rs, tt.pods...), replicasettest.Now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(p)); diff != "" {
				t.Errorf("ReplicaSet() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideStatus(t *testing.T) {
	rs := replicasettest.ReplicaSet(3)
	rs.Spec.MinReadySeconds = 10
	p, err := ReplicaSet(snapshot(t, rs,
		replicasettest.Pod("available", replicasettest.Ready(time.Minute)),
		replicasettest.Pod("ready", replicasettest.Ready(4*time.Second), replicasettest.Labelled("tier", "other")),
		replicasettest.Pod("readier", replicasettest.Ready(7*time.Second)),
		replicasettest.Pod("running"),
		replicasettest.Pod("failed", replicasettest.Phase(corev1.PodFailed)),
		replicasettest.Pod("terminating", replicasettest.Going, replicasettest.Ready(time.Minute)),
		replicasettest.Pod("terminated", replicasettest.Going, replicasettest.Phase(corev1.PodSucceeded)),
	), replicasettest.Now)
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	want := &appsv1.ReplicaSetStatus{
		Replicas: 4, FullyLabeledReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 1, TerminatingReplicas: &one, ObservedGeneration: 4,
	}
	if diff := cmp.Diff(want, p.Status); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	if p.RequeueAfter != 3*time.Second {
		t.Errorf("RequeueAfter = %v, want 3s: when the next one becomes available", p.RequeueAfter)
	}
}

func TestConclude(t *testing.T) {
	lacking, err := ReplicaSet(Snapshot{ReplicaSet: replicasettest.ReplicaSet(1)}, replicasettest.Now)
	if err != nil {
		t.Fatal(err)
	}
	settled := replicasettest.ReplicaSet(1)
	settled.Status = *lacking.Status
	failed := replicasettest.ReplicaSet(1)
	failed.Status = *lacking.Status
	refusal := apierrors.NewForbidden(appsv1.Resource("pods"), "web-", errors.New("exceeded quota"))
	broken := &plan.ActionError{Verb: plan.Create, Object: replicasettest.Pod(""), Err: refusal}
	failed.Status = *Conclude(failed, lacking, broken, replicasettest.Now)
	if c := failed.Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || c[0].Status != corev1.ConditionTrue || c[0].Message != refusal.Error() {
		t.Fatalf("conditions after a failure = %+v", c)
	}
	again, err := ReplicaSet(Snapshot{ReplicaSet: failed}, replicasettest.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got := Conclude(failed, again, broken, replicasettest.Now.Add(time.Hour)); got != nil {
		t.Errorf("the same failure again is written again: %+v", got)
	}
	if got := Conclude(failed, again, &plan.StaleError{Err: refusal}, replicasettest.Now); got != nil {
		t.Errorf("an old cache changes the failure: %+v", got)
	}
	if got := Conclude(failed, again, nil, replicasettest.Now); got == nil || len(got.Conditions) != 0 {
		t.Errorf("the failure does not go when the actions succeed: %+v", got)
	}
	if got := Conclude(settled, lacking, nil, replicasettest.Now); got != nil {
		t.Errorf("a status that is right is written: %+v", got)
	}
}

func TestToDelete(t *testing.T) {
	steady := []replicasettest.Option{replicasettest.Ready(time.Hour)}
	with := func(o ...replicasettest.Option) []replicasettest.Option {
		return append(append([]replicasettest.Option{}, steady...), o...)
	}
	// Of each pair, the first pod is deleted rather than the second.
	for name, pair := range map[string][2][]replicasettest.Option{
		"unassigned":        {{replicasettest.On("")}, {replicasettest.Phase(corev1.PodPending)}},
		"pending":           {{replicasettest.Phase(corev1.PodPending)}, {replicasettest.Phase(corev1.PodUnknown)}},
		"unknown":           {{replicasettest.Phase(corev1.PodUnknown)}, {}},
		"not ready":         {{cost("100")}, steady},
		"low cost":          {with(cost("-5")), with(replicasettest.On("n2"))},
		"bad cost is 0":     {with(cost("-1")), with(cost("cheap"))},
		"doubled up":        {with(replicasettest.On("n2")), with(restarts(9))},
		"ready for shorter": {[]replicasettest.Option{replicasettest.Ready(time.Second), age(time.Hour)}, with(restarts(5))},
		"more restarts":     {with(restarts(3)), with(restarts(2), age(time.Second))},
		"younger":           {with(age(time.Second)), steady},
	} {
		t.Run(name, func(t *testing.T) {
			goes, stays := replicasettest.Pod("z", pair[0]...), replicasettest.Pod("a", pair[1]...)
			for _, pods := range [][]*corev1.Pod{{goes, stays}, {stays, goes}} {
				got := toDelete(pods, map[string]int{"n1": 1, "n2": 4}, 1, replicasettest.Now)
				if len(got) != 1 || got[0] != goes {
					t.Errorf("toDelete() = %s", got[0].Name)
				}
			}
		})
	}
}

func TestToDeleteAlikeByUID(t *testing.T) {
	a, b := replicasettest.Pod("a", replicasettest.Ready(time.Hour), age(1000*time.Hour)), replicasettest.Pod("b", replicasettest.Ready(61*time.Minute), age(1001*time.Hour))
	if got := toDelete([]*corev1.Pod{b, a}, nil, 1, replicasettest.Now); got[0] != a {
		t.Errorf("of pods of about the same age %s goes, want the one with the lesser UID", got[0].Name)
	}
}
