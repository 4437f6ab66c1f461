package replicaset

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
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/plan"
)

var now = time.Unix(1_000_000, 0)

func replicaSet(replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "rs", Generation: 4},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "tier": "front"}}},
		},
	}
}

type podOption func(*corev1.Pod)

func pod(name string, opts ...podOption) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			Labels:          map[string]string{"app": "web", "tier": "front"},
			OwnerReferences: []metav1.OwnerReference{{UID: "rs", Controller: &yes}},
		},
		Spec:   corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, o := range opts {
		o(p)
	}
	return p
}

func phase(p corev1.PodPhase) podOption { return func(pod *corev1.Pod) { pod.Status.Phase = p } }
func on(node string) podOption          { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }
func orphan(pod *corev1.Pod)            { pod.OwnerReferences = nil }
func labelled(key, value string) podOption {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}
func going(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} }
func ready(ago time.Duration) podOption {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		}}
	}
}

func age(d time.Duration) podOption {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
}

func cost(text string) podOption {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.PodDeletionCost: text} }
}

func restarts(n int32) podOption {
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

func TestDecideActions(t *testing.T) {
	deleted := replicaSet(3)
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	for name, tt := range map[string]struct {
		rs   *appsv1.ReplicaSet
		pods []*corev1.Pod
		want []string
	}{
		"none yet":             {replicaSet(3), nil, []string{"create 3 web-"}},
		"enough":               {replicaSet(1), []*corev1.Pod{pod("p1")}, nil},
		"one ended":            {replicaSet(2), []*corev1.Pod{pod("p1"), pod("p2", phase(corev1.PodFailed))}, []string{"create 1 web-"}},
		"one terminating":      {replicaSet(2), []*corev1.Pod{pod("p1"), pod("p2", going)}, []string{"create 1 web-"}},
		"orphan adopted":       {replicaSet(2), []*corev1.Pod{pod("p1"), pod("p2", orphan)}, []string{"adopt p2"}},
		"relabelled released":  {replicaSet(1), []*corev1.Pod{pod("p1"), pod("p2", labelled("app", "db"))}, []string{"release p2"}},
		"too many":             {replicaSet(1), []*corev1.Pod{pod("p1", ready(time.Minute)), pod("p2")}, []string{"delete p2"}},
		"adopt, then delete":   {replicaSet(1), []*corev1.Pod{pod("p1", ready(time.Minute)), pod("p2", orphan)}, []string{"adopt p2", "delete p2"}},
		"to none":              {replicaSet(0), []*corev1.Pod{pod("p1"), pod("p2")}, []string{"delete p1 p2"}},
		"being deleted itself": {deleted, []*corev1.Pod{pod("p1"), pod("p2", orphan)}, nil},
		"burst":                {replicaSet(2000), nil, []string{"create 500 web-"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Decide(Snapshot{ReplicaSet: tt.rs, Pods: tt.pods}, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(p)); diff != "" {
				t.Errorf("Decide() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideStatus(t *testing.T) {
	rs := replicaSet(3)
	rs.Spec.MinReadySeconds = 10
	p, err := Decide(Snapshot{ReplicaSet: rs, Pods: []*corev1.Pod{
		pod("available", ready(time.Minute)),
		pod("ready", ready(4*time.Second), labelled("tier", "other")),
		pod("readier", ready(7*time.Second)),
		pod("running"),
		pod("failed", phase(corev1.PodFailed)),
		pod("terminating", going, ready(time.Minute)),
		pod("terminated", going, phase(corev1.PodSucceeded)),
	}}, now)
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
	lacking, err := Decide(Snapshot{ReplicaSet: replicaSet(1)}, now)
	if err != nil {
		t.Fatal(err)
	}
	settled := replicaSet(1)
	settled.Status = *lacking.Status
	failed := replicaSet(1)
	failed.Status = *lacking.Status
	refusal := apierrors.NewForbidden(appsv1.Resource("pods"), "web-", errors.New("exceeded quota"))
	broken := &plan.ActionError{Verb: plan.Create, Object: pod(""), Err: refusal}
	failed.Status = *Conclude(failed, lacking, broken, now)
	if c := failed.Status.Conditions; len(c) != 1 || c[0].Reason != "FailedCreate" || c[0].Status != corev1.ConditionTrue || c[0].Message != refusal.Error() {
		t.Fatalf("conditions after a failure = %+v", c)
	}
	again, err := Decide(Snapshot{ReplicaSet: failed}, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := Conclude(failed, again, broken, now.Add(time.Hour)); got != nil {
		t.Errorf("the same failure again is written again: %+v", got)
	}
	if got := Conclude(failed, again, &plan.StaleError{Err: refusal}, now); got != nil {
		t.Errorf("an old cache changes the failure: %+v", got)
	}
	if got := Conclude(failed, again, nil, now); got == nil || len(got.Conditions) != 0 {
		t.Errorf("the failure does not go when the actions succeed: %+v", got)
	}
	if got := Conclude(settled, lacking, nil, now); got != nil {
		t.Errorf("a status that is right is written: %+v", got)
	}
}

func TestToDelete(t *testing.T) {
	steady := []podOption{ready(time.Hour)}
	with := func(o ...podOption) []podOption { return append(append([]podOption{}, steady...), o...) }
	// Of each pair, the first pod is deleted rather than the second.
	for name, pair := range map[string][2][]podOption{
		"unassigned":        {{on("")}, {phase(corev1.PodPending)}},
		"pending":           {{phase(corev1.PodPending)}, {phase(corev1.PodUnknown)}},
		"unknown":           {{phase(corev1.PodUnknown)}, {}},
		"not ready":         {{cost("100")}, steady},
		"low cost":          {with(cost("-5")), with(on("n2"))},
		"bad cost is 0":     {with(cost("-1")), with(cost("cheap"))},
		"doubled up":        {with(on("n2")), with(restarts(9))},
		"ready for shorter": {[]podOption{ready(time.Second), age(time.Hour)}, with(restarts(5))},
		"more restarts":     {with(restarts(3)), with(restarts(2), age(time.Second))},
		"younger":           {with(age(time.Second)), steady},
	} {
		t.Run(name, func(t *testing.T) {
			goes, stays := pod("z", pair[0]...), pod("a", pair[1]...)
			for _, pods := range [][]*corev1.Pod{{goes, stays}, {stays, goes}} {
				got := toDelete(pods, map[string]int{"n1": 1, "n2": 4}, 1, now)
				if len(got) != 1 || got[0] != goes {
					t.Errorf("toDelete() = %s", got[0].Name)
				}
			}
		})
	}
}

func TestToDeleteAlikeByUID(t *testing.T) {
	a, b := pod("a", ready(time.Hour), age(1000*time.Hour)), pod("b", ready(61*time.Minute), age(1001*time.Hour))
	if got := toDelete([]*corev1.Pod{b, a}, nil, 1, now); got[0] != a {
		t.Errorf("of pods of about the same age %s goes, want the one with the lesser UID", got[0].Name)
	}
}
