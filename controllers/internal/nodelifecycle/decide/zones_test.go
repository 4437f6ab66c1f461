package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func inZone(zone string, i int, ready corev1.ConditionStatus) *corev1.Node {
	return testNode(ready, func(n *corev1.Node) {
		n.Name = fmt.Sprint(zone, i)
		n.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	})
}

// filled returns zones with one zone that has that many ready and other nodes.
func filled(zone string, ready, notReady int) *Zones {
	z := NewZones(ZoneOptions{})
	for i := range ready + notReady {
		status := corev1.ConditionTrue
		if i >= ready {
			status = corev1.ConditionUnknown
		}
		z.Observe(inZone(zone, i, status))
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
		if got := z.modeOf("" + zoneSeparator + "a"); got != tt.want || z.Lost() != tt.lost {
			t.Errorf("%d ready and %d not: mode %v, all lost %v", tt.ready, tt.notReady, got, z.Lost())
		}
	}
	if NewZones(ZoneOptions{}).Lost() {
		t.Error("no nodes are no lost ones")
	}
}

func TestTurns(t *testing.T) {
	z := filled("a", 3, 2)
	if wait := z.Turn("a3", epoch); wait != 0 {
		t.Errorf("the first waits %v", wait)
	}
	if wait := z.Turn("a3", epoch); wait != 0 {
		t.Errorf("asked again, it waits %v", wait)
	}
	if wait := z.Turn("a4", at(4*time.Second)); wait != 6*time.Second {
		t.Errorf("the second waits %v", wait)
	}
	if wait := z.Turn("a4", at(10*time.Second)); wait != 0 {
		t.Errorf("the second, in its turn, waits %v", wait)
	}
	z.Observe(inZone("a", 3, corev1.ConditionTrue))
	z.Observe(inZone("a", 3, corev1.ConditionUnknown))
	if wait := z.Turn("a3", at(11*time.Second)); wait != 9*time.Second {
		t.Errorf("lost once more, it waits %v", wait)
	}
	if wait := filled("a", 1, 4).Turn("a3", epoch); wait != never {
		t.Errorf("in a small unsound zone: %v", wait)
	}
	large := filled("a", 20, 60)
	large.Turn("a30", epoch)
	if wait := large.Turn("a31", epoch); wait != 100*time.Second {
		t.Errorf("in a large unsound zone: %v", wait)
	}
	if wait := filled("a", 0, 1).Turn("a0", epoch); wait != never {
		t.Errorf("when all are lost: %v", wait)
	}
}

func TestWhoIsWokenByAChangeOfZones(t *testing.T) {
	z := filled("a", 2, 2)
	z.Observe(inZone("b", 0, corev1.ConditionTrue))
	if woken := z.Observe(inZone("a", 0, corev1.ConditionUnknown)); !slices.Equal(woken, []string{"a0", "a1", "a2", "a3"}) {
		t.Errorf("the zone became unsound: %v", woken)
	}
	if woken := z.Observe(inZone("a", 1, corev1.ConditionUnknown)); len(woken) != 4 {
		t.Errorf("the zone was lost: %v", woken)
	}
	if woken := z.Observe(inZone("b", 0, corev1.ConditionFalse)); len(woken) != 5 {
		t.Errorf("all zones were lost: %v", woken)
	}
	if woken := z.Remove("b0"); woken != nil || !z.Lost() {
		t.Errorf("one of the lost went: %v", woken)
	}
	if woken := z.Observe(inZone("a", 2, corev1.ConditionTrue)); len(woken) != 4 {
		t.Errorf("one came back: %v", woken)
	}
}
