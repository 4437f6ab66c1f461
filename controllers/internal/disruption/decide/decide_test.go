package decide

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var start = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// pods returns n ready pods of a controller, and unready ones.
func pods(controller string, ready, unready int) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range ready + unready {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: controller + "-" + string(rune('a'+i)), Namespace: "ns"}}
		if controller != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: controller, UID: types.UID(controller), Controller: ptr.To(true)}}
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if i < ready {
			pod.Status.Conditions[0].Status = corev1.ConditionTrue
		}
		all = append(all, pod)
	}
	return all
}

func budget(minAvailable, maxUnavailable string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 2}}
	if minAvailable != "" {
		b.Spec.MinAvailable = ptr.To(intstr.Parse(minAvailable))
	}
	if maxUnavailable != "" {
		b.Spec.MaxUnavailable = ptr.To(intstr.Parse(maxUnavailable))
	}
	return b
}

// snapshot returns the snapshot of a budget that selects these pods.
func snapshot(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, scales map[types.UID]int32) Snapshot {
	return Snapshot{Budget: b, Pods: Survey(pods, labels.Everything(), b.Status.DisruptedPods), Scales: scales}
}

func TestDecide(t *testing.T) {
	sizes := map[types.UID]int32{"web": 5, "db": 2}
	tests := map[string]struct {
		budget                              *policyv1.PodDisruptionBudget
		pods                                []*corev1.Pod
		expected, desired, current, allowed int32
		event                               string
	}{
		"a number at least":                 {budget("3", ""), pods("web", 5, 0), 5, 3, 5, 2, ""},
		"a number at least, too few":        {budget("3", ""), pods("web", 2, 3), 5, 3, 2, 0, ""},
		"a share at least, rounded up":      {budget("50%", ""), pods("web", 5, 0), 5, 3, 5, 2, ""},
		"a number at most":                  {budget("", "1"), pods("web", 5, 0), 5, 4, 5, 1, ""},
		"a number at most, one is down":     {budget("", "1"), pods("web", 4, 1), 5, 4, 4, 0, ""},
		"more at most than there are":       {budget("", "9"), pods("web", 5, 0), 5, 0, 5, 5, ""},
		"a share at most, rounded up":       {budget("", "30%"), pods("web", 5, 0), 5, 3, 5, 2, ""},
		"a controller that has not all yet": {budget("", "1"), pods("web", 3, 0), 5, 4, 3, 0, ""},
		"two controllers":                   {budget("", "1"), append(pods("web", 5, 0), pods("db", 2, 0)...), 7, 6, 7, 1, ""},
		"no pods":                           {budget("1", ""), nil, 0, 1, 0, 0, "NoPods"},
		"pods of no controller, by number":  {budget("1", ""), pods("", 2, 0), 2, 1, 2, 1, ""},
		"pods of no controller, by share":   {budget("50%", ""), pods("", 2, 0), 0, 0, 2, 0, "UnmanagedPods"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Budget(snapshot(test.budget, test.pods, sizes), start)
			if err != nil {
				t.Fatal(err)
			}
			s := p.Status
			if s.ExpectedPods != test.expected || s.DesiredHealthy != test.desired || s.CurrentHealthy != test.current || s.DisruptionsAllowed != test.allowed {
				t.Errorf("expected %d, desired %d, current %d, allowed %d", s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed)
			}
			if s.ObservedGeneration != 2 {
				t.Errorf("observed generation %d", s.ObservedGeneration)
			}
			if got := reasons(p); got != test.event {
				t.Errorf("events %q, want %q", got, test.event)
			}
			again := test.budget.DeepCopy()
			again.Status = *s
			if p, err = Budget(snapshot(again, test.pods, sizes), start.Add(time.Hour)); err != nil || p.Status != nil {
				t.Errorf("a second look changes the status again: %+v, %v", p.Status, err)
			}
		})
	}
}

func reasons(p Plan) string {
	var all []string
	for _, e := range p.Events {
		all = append(all, e.Reason)
	}
	return strings.Join(all, " ")
}

func TestDecideWithoutTheControllersSize(t *testing.T) {
	b := budget("", "1")
	b.Status.DisruptionsAllowed = 3
	p, err := Budget(snapshot(b, pods("gone", 2, 0), nil), start)
	if err == nil || p.Status == nil || p.Status.DisruptionsAllowed != 0 {
		t.Fatalf("got %+v, %v: nothing may be evicted", p.Status, err)
	}
	if c := p.Status.Conditions[0]; c.Reason != policyv1.SyncFailedReason || c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
}

func TestDisruptedPods(t *testing.T) {
	b, web := budget("1", ""), pods("web", 3, 0)
	web[2].DeletionTimestamp = &metav1.Time{Time: start}
	b.Status.DisruptedPods = map[string]metav1.Time{
		web[0].Name: metav1.NewTime(start.Add(-time.Minute)),
		web[1].Name: metav1.NewTime(start.Add(-time.Hour)),
		web[2].Name: metav1.NewTime(start),
		"gone":      metav1.NewTime(start),
	}
	p, err := Budget(snapshot(b, web, nil), start)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Status.DisruptedPods) != 1 || p.Status.CurrentHealthy != 1 {
		t.Errorf("disrupted %v, %d healthy: want the one that may still go, and the one that should have", p.Status.DisruptedPods, p.Status.CurrentHealthy)
	}
	if len(p.Overdue) != 1 || p.Overdue[0] != web[1] || p.RequeueAfter != time.Minute {
		t.Errorf("overdue %v, again after %v", p.Overdue, p.RequeueAfter)
	}
}

func TestTakeBack(t *testing.T) {
	pod := pods("web", 1, 0)[0]
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start),
	})
	if p := TakeBack(pod, start.Add(30*time.Second)); p.Status != nil || p.RequeueAfter != 90*time.Second {
		t.Errorf("after 30 s: %+v", p)
	}
	p := TakeBack(pod, start.Add(2*time.Minute))
	if p.Status == nil || p.Status.Conditions[1].Status != corev1.ConditionFalse {
		t.Errorf("after 2 min: %+v", p)
	}
	pod.DeletionTimestamp = &metav1.Time{Time: start}
	if p := TakeBack(pod, start.Add(time.Hour)); p.Status != nil || p.RequeueAfter != 0 {
		t.Errorf("for a pod that goes: %+v", p)
	}
}
