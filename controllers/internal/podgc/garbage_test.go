package podgc

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testPod(name string, created int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(created, 0)}}
}

func TestSurplusIsTheOldest(t *testing.T) {
	pods := []*corev1.Pod{testPod("c", 3), testPod("b", 1), testPod("a", 1), testPod("d", 2)}
	for threshold, want := range map[int][]string{0: {"a", "b", "d", "c"}, 2: {"a", "b"}, 3: {"a"}, 4: nil, 9: nil} {
		var got []string
		for _, pod := range surplus(pods, threshold) {
			got = append(got, pod.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("threshold %d: %s", threshold, diff)
		}
	}
	if pods[0].Name != "c" {
		t.Error("the caller's slice was sorted")
	}
}

func TestWhoIsBeyondAnybodysReach(t *testing.T) {
	deleted := &metav1.Time{Time: time.Unix(1, 0)}
	node := func(ready corev1.ConditionStatus, taint string) *corev1.Node {
		n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
		if taint != "" {
			n.Spec.Taints = []corev1.Taint{{Key: taint, Effect: corev1.TaintEffectNoExecute}}
		}
		return n
	}
	unbound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}
	bound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}, Spec: corev1.PodSpec{NodeName: "n"}}
	if !neverBound(unbound) || neverBound(bound) || neverBound(&corev1.Pod{}) {
		t.Error("neverBound is wrong")
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		node *corev1.Node
		want bool
	}{
		"out of service":      {bound, node(corev1.ConditionUnknown, corev1.TaintNodeOutOfService), true},
		"but ready":           {bound, node(corev1.ConditionTrue, corev1.TaintNodeOutOfService), false},
		"only unreachable":    {bound, node(corev1.ConditionUnknown, corev1.TaintNodeUnreachable), false},
		"not being deleted":   {&corev1.Pod{}, node(corev1.ConditionUnknown, corev1.TaintNodeOutOfService), false},
		"the node is unknown": {bound, nil, false},
	} {
		if got := outOfService(tt.pod, tt.node); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
