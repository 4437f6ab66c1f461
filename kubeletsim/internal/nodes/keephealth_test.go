package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes of another cluster go on as they were.
func TestKeepHealth(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	condition := func(of corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: of, Status: status, Reason: reason, Message: "as it was", LastHeartbeatTime: metav1.NewTime(now.Add(-time.Hour))}
	}
	for name, test := range map[string]struct {
		stated    []corev1.NodeCondition
		reachable bool
		want      map[corev1.NodeConditionType]corev1.ConditionStatus
	}{
		"nothing stated": {nil, true, map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue}},
		"Ready": {
			[]corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady")},
			true,
			map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue},
		},
		"not Ready": {
			[]corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady")},
			true,
			map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionFalse},
		},
		"silent": {
			[]corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionUnknown, "NodeStatusUnknown")}, false, nil,
		},
		"under pressure": {
			[]corev1.NodeCondition{condition(corev1.NodeDiskPressure, corev1.ConditionTrue, "KubeletHasDiskPressure")},
			true,
			map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue, corev1.NodeDiskPressure: corev1.ConditionTrue},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable()
			table.KeepHealth()
			object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: test.stated}}
			n, err := table.Adopt(object)
			if err != nil {
				t.Fatal(err)
			}
			if n.Reachable() != test.reachable {
				t.Errorf("reachable: %v", n.Reachable())
			}
			if !test.reachable {
				return
			}
			conditions, _ := Conditions(object, n, now)
			for _, c := range conditions {
				if want := test.want[c.Type]; want != "" && (c.Status != want || want == corev1.ConditionFalse && c.Message != "as it was") {
					t.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
				}
			}
		})
	}
}
