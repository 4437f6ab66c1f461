package nodelifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func inZone(zone string, i int, ready corev1.ConditionStatus) *corev1.Node {
	return testNode(ready, func(n *corev1.Node) {
		n.Name = fmt.Sprint(zone, i)
		n.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	})
}

// filled returns zones with one zone that has that many ready and other nodes.
func filled(zone string, ready, notReady int) *zones {
	z := newZones(ZoneOptions{})
	for i := range ready + notReady {
		status := corev1.ConditionTrue
		if i >= ready {
			status = corev1.ConditionUnknown
		}
		z.observe(inZone(zone, i, status))
	}
	return z
}

func TestZoneModes(t *testing.T) {
	for _, tt := range []struct {
		ready, notReady int
		want            mode
		lost            bool
	}{
		{3, 0, sound, false},
		{2, 1, sound, false},
		{1, 2, sound, false},
		{0, 1, lost, true},
		{0, 3, lost, true},
		{3, 3, sound, false},
		{2, 3, unsound, false},
		{50, 60, sound, false},
		{49, 60, unsound, false},
	} {
		z := filled("a", tt.ready, tt.notReady)
		if got := z.modeOf("" + zoneSeparator + "a"); got != tt.want || z.lost() != tt.lost {
			t.Errorf("%d ready and %d not: mode %v, all lost %v", tt.ready, tt.notReady, got, z.lost())
		}
	}
	if newZones(ZoneOptions{}).lost() {
		t.Error("no nodes are no lost ones")
	}
}

func TestTurns(t *testing.T) {
	z := filled("a", 3, 2)
	if wait := z.turn("a3", epoch); wait != 0 {
		t.Errorf("the first waits %v", wait)
	}
	if wait := z.turn("a3", epoch); wait != 0 {
		t.Errorf("asked again, it waits %v", wait)
	}
	if wait := z.turn("a4", at(4*time.Second)); wait != 6*time.Second {
		t.Errorf("the second waits %v", wait)
	}
	if wait := z.turn("a4", at(10*time.Second)); wait != 0 {
		t.Errorf("the second, in its turn, waits %v", wait)
	}
	z.observe(inZone("a", 3, corev1.ConditionTrue))
	z.observe(inZone("a", 3, corev1.ConditionUnknown))
	if wait := z.turn("a3", at(11*time.Second)); wait != 9*time.Second {
		t.Errorf("lost once more, it waits %v", wait)
	}
	if wait := filled("a", 1, 4).turn("a3", epoch); wait != never {
		t.Errorf("in a small unsound zone: %v", wait)
	}
	large := filled("a", 20, 60)
	large.turn("a30", epoch)
	if wait := large.turn("a31", epoch); wait != 100*time.Second {
		t.Errorf("in a large unsound zone: %v", wait)
	}
	if wait := filled("a", 0, 1).turn("a0", epoch); wait != never {
		t.Errorf("when all are lost: %v", wait)
	}
}

func TestWhoIsWokenByAChangeOfZones(t *testing.T) {
	z := filled("a", 2, 2)
	z.observe(inZone("b", 0, corev1.ConditionTrue))
	if woken := z.observe(inZone("a", 0, corev1.ConditionUnknown)); !slices.Equal(woken, []string{"a0", "a1", "a2", "a3"}) {
		t.Errorf("the zone became unsound: %v", woken)
	}
	if woken := z.observe(inZone("a", 1, corev1.ConditionUnknown)); len(woken) != 4 {
		t.Errorf("the zone was lost: %v", woken)
	}
	if woken := z.observe(inZone("b", 0, corev1.ConditionFalse)); len(woken) != 5 {
		t.Errorf("all zones were lost: %v", woken)
	}
	if woken := z.remove("b0"); woken != nil || !z.lost() {
		t.Errorf("one of the lost went: %v", woken)
	}
	if woken := z.observe(inZone("a", 2, corev1.ConditionTrue)); len(woken) != 4 {
		t.Errorf("one came back: %v", woken)
	}
}

func TestHeartbeats(t *testing.T) {
	h := newHeartbeats()
	heard := func(want time.Duration) {
		t.Helper()
		if b, _ := h.get("n"); !b.heard.Equal(at(want)) {
			t.Errorf("heard at %v, want %v", b.heard.Sub(epoch), want)
		}
	}
	lease := func(renewed time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(at(renewed))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
	}
	h.lease(lease(0), epoch) // of a node that is not known
	n := testNode(corev1.ConditionTrue)
	h.node(n, at(time.Second))
	heard(time.Second)
	h.node(n, at(2*time.Second))
	heard(time.Second)
	h.lease(lease(time.Second), at(3*time.Second))
	heard(3 * time.Second)
	h.lease(lease(time.Second), at(4*time.Second))
	heard(3 * time.Second)
	n = n.DeepCopy()
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(5 * time.Second))
	h.node(n, at(6*time.Second))
	heard(6 * time.Second)
	n = n.DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	h.node(n, at(70*time.Second))
	heard(6 * time.Second)
	if b, _ := h.get("n"); !b.since.Equal(at(70 * time.Second)) {
		t.Errorf("unknown since %v", b.since)
	}
	h.hearAll(at(80 * time.Second))
	heard(80 * time.Second)
	h.forget("n")
	if _, known := h.get("n"); known {
		t.Error("still known")
	}
}
