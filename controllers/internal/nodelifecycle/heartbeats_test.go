package nodelifecycle

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHeartbeats(t *testing.T) {
	epoch := time.Unix(1_000_000, 0)
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	h := newHeard()
	heardAt := func(want time.Duration) {
		t.Helper()
		if b, _ := h.get("n"); !b.heard.Equal(at(want)) {
			t.Errorf("heard at %v, want %v", b.heard.Sub(epoch), want)
		}
	}
	lease := func(renewed time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(at(renewed))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
	}
	h.lease(lease(0), epoch, 0) // of a node that is not known
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(epoch)}}
	h.node(n, at(time.Second), 0)
	heardAt(time.Second)
	h.node(n, at(2*time.Second), 0)
	heardAt(time.Second)
	h.lease(lease(time.Second), at(3*time.Second), 0)
	heardAt(3 * time.Second)
	h.lease(lease(time.Second), at(4*time.Second), 0)
	heardAt(3 * time.Second)
	n = n.DeepCopy()
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(5 * time.Second))
	h.node(n, at(6*time.Second), 0)
	heardAt(6 * time.Second)
	n = n.DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	h.node(n, at(70*time.Second), 0)
	heardAt(6 * time.Second)
	if b, _ := h.get("n"); !b.since.Equal(at(70 * time.Second)) {
		t.Errorf("unknown since %v", b.since)
	}
	h.hearAll(at(80 * time.Second))
	heardAt(80 * time.Second)
	h.forget("n")
	if _, known := h.get("n"); known {
		t.Error("still known")
	}
}
