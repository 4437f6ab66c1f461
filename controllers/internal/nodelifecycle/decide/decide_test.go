package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Unix(1_000_000, 0).UTC()

// at returns a time after the epoch.
func at(d time.Duration) time.Time { return epoch.Add(d) }

func testNode(ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(epoch)}}
	if ready != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.NewTime(epoch)}}
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func with(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
	}
}

func taint(key string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Effect: effect}
}

func tainted(taints ...corev1.Taint) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taints...) }
}

// allUnknown returns a node whose monitored conditions are Unknown.
func allUnknown(change ...func(*corev1.Node)) *corev1.Node {
	return testNode(corev1.ConditionUnknown, append([]func(*corev1.Node){
		with(corev1.NodeMemoryPressure, corev1.ConditionUnknown), with(corev1.NodeDiskPressure, corev1.ConditionUnknown),
		with(corev1.NodePIDPressure, corev1.ConditionUnknown),
	}, change...)...)
}

func snapshot(n *corev1.Node, change ...func(*Snapshot)) Snapshot {
	in := Snapshot{
		Node: n, Heard: epoch, Since: epoch, Epoch: epoch,
		Grace: 50 * time.Second, StartupGrace: time.Minute, Period: 5 * time.Second,
	}
	for _, f := range change {
		f(&in)
	}
	return in
}

func TestSilentNodesBecomeUnknownInAPass(t *testing.T) {
	for name, tt := range map[string]struct {
		node   *corev1.Node
		now    time.Duration
		reason string
		after  time.Duration
	}{
		"heard of":                {testNode(corev1.ConditionTrue), 20 * time.Second, "", 35 * time.Second},
		"in its last second":      {testNode(corev1.ConditionTrue), 54 * time.Second, "", time.Second},
		"silent":                  {testNode(corev1.ConditionTrue), 55 * time.Second, "NodeStatusUnknown", 0},
		"not ready, and silent":   {testNode(corev1.ConditionFalse), 55 * time.Second, "NodeStatusUnknown", 0},
		"never said anything yet": {testNode(""), 60 * time.Second, "", 5 * time.Second},
		"never said anything":     {testNode(""), 65 * time.Second, "NodeStatusNeverUpdated", 0},
		"known to be silent":      {allUnknown(), time.Hour, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := Node(snapshot(tt.node), at(tt.now))
			if tt.reason == "" {
				if d.Conditions != nil || d.After != tt.after {
					t.Errorf("Node() = %+v, want another look after %v", d, tt.after)
				}
				return
			}
			if len(d.Conditions) != 4 || d.WentSilent != isReady(tt.node) {
				t.Fatalf("Node() = %+v", d)
			}
			c := d.Conditions[0]
			if c.Type != corev1.NodeReady || c.Status != corev1.ConditionUnknown || c.Reason != tt.reason || !c.LastTransitionTime.Time.Equal(at(tt.now)) {
				t.Errorf("Ready: %+v", c)
			}
			if d.Conditions[1].Reason != "NodeStatusNeverUpdated" {
				t.Errorf("a condition that never was: %+v", d.Conditions[1])
			}
		})
	}
}

func TestTaintsFollowConditions(t *testing.T) {
	noSchedule, noExecute := corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	mine := taint("mine", noExecute)
	may := func(s *Snapshot) { s.MayEvict = true }
	lost := func(s *Snapshot) { s.Lost = true }
	for name, tt := range map[string]struct {
		in        Snapshot
		want      []corev1.Taint
		unchanged bool
		needsTurn bool
	}{
		"ready": {in: snapshot(testNode(corev1.ConditionTrue)), unchanged: true},
		"cordoned": {
			in:   snapshot(testNode(corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true })),
			want: []corev1.Taint{taint(corev1.TaintNodeUnschedulable, noSchedule)},
		},
		"under pressure, with a taint of the user's": {
			in:   snapshot(testNode(corev1.ConditionTrue, with(corev1.NodeMemoryPressure, corev1.ConditionTrue), tainted(mine))),
			want: []corev1.Taint{mine, taint(corev1.TaintNodeMemoryPressure, noSchedule)},
		},
		"not ready, waits for its turn": {
			in:   snapshot(testNode(corev1.ConditionFalse)),
			want: []corev1.Taint{taint(corev1.TaintNodeNotReady, noSchedule)}, needsTurn: true,
		},
		"not ready, has its turn": {
			in:   snapshot(testNode(corev1.ConditionFalse), may),
			want: []corev1.Taint{taint(corev1.TaintNodeNotReady, noSchedule), taint(corev1.TaintNodeNotReady, noExecute)},
		},
		"not ready just now": {
			in:   snapshot(testNode(corev1.ConditionFalse), may, func(s *Snapshot) { s.Since = at(time.Second) }),
			want: []corev1.Taint{taint(corev1.TaintNodeNotReady, noSchedule)},
		},
		"never said anything": {in: snapshot(testNode(""), may), unchanged: true},
		"all nodes are lost": {
			in:   snapshot(allUnknown(tainted(taint(corev1.TaintNodeUnreachable, noExecute))), lost),
			want: []corev1.Taint{taint(corev1.TaintNodeUnreachable, noSchedule)},
		},
		"unreachable became not ready": {
			in:   snapshot(testNode(corev1.ConditionFalse, tainted(taint(corev1.TaintNodeUnreachable, noSchedule), taint(corev1.TaintNodeUnreachable, noExecute)))),
			want: []corev1.Taint{taint(corev1.TaintNodeNotReady, noSchedule), taint(corev1.TaintNodeNotReady, noExecute)},
		},
		"ready again": {
			in:   snapshot(testNode(corev1.ConditionTrue, tainted(taint(corev1.TaintNodeUnreachable, noSchedule), mine, taint(corev1.TaintNodeUnreachable, noExecute)))),
			want: []corev1.Taint{mine},
		},
		"as it should be": {
			in:        snapshot(testNode(corev1.ConditionFalse, tainted(taint(corev1.TaintNodeNotReady, noSchedule), taint(corev1.TaintNodeNotReady, noExecute)))),
			unchanged: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := at(time.Second)
			d := Node(tt.in, now)
			if d.ChangeTaints == tt.unchanged || d.NeedsTurn != tt.needsTurn {
				t.Fatalf("Node() = %+v", d)
			}
			if tt.unchanged {
				return
			}
			for i := range d.Taints {
				if added := d.Taints[i].TimeAdded; d.Taints[i].Key != "mine" && (added == nil || !added.Time.Equal(now)) {
					t.Errorf("added at %v: %+v", added, d.Taints[i])
				}
				d.Taints[i].TimeAdded = nil
			}
			if diff := cmp.Diff(tt.want, d.Taints); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLabelsFollow(t *testing.T) {
	n := testNode(corev1.ConditionTrue, func(n *corev1.Node) {
		n.Labels = map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "arm64", "beta.kubernetes.io/arch": "arm64"}
	})
	want := map[string]string{"beta.kubernetes.io/os": "linux"}
	if diff := cmp.Diff(want, Node(snapshot(n), epoch).Labels); diff != "" {
		t.Error(diff)
	}
}
