package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settleTime is how long a node is not ready before it can be tainted NoExecute, so
// that all that were lost in one pass are known to be.
const settleTime = 100 * time.Millisecond

// labelPairs are labels of which the second follows the first.
var labelPairs = [][2]string{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// monitored are the conditions that only the kubelet can know.
var monitored = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

// Snapshot is what a decision about a node rests on.
type Snapshot struct {
	Node *corev1.Node
	// Heard is when the node was last heard of, and Since when its Ready condition was
	// first seen to have the status that it has.
	Heard, Since time.Time
	// Grace is how long a node may be silent, and StartupGrace one that has not yet
	// said anything.
	Grace, StartupGrace time.Duration
	// Passes begin at Epoch and are Period apart; nodes are found silent in passes.
	Epoch  time.Time
	Period time.Duration
	// Lost says that no node of the cluster is ready: nothing is to be evicted.
	Lost bool
	// MayEvict says that it is the node's turn to be tainted NoExecute.
	MayEvict bool
}

// Decision is what is to be done about a node.
type Decision struct {
	// Conditions are to be written; nil: they are as they should be. Then the rest is
	// left for when they have been.
	Conditions []corev1.NodeCondition
	// WentSilent says that these conditions end the node's being ready.
	WentSilent bool
	// Labels are to be set.
	Labels map[string]string
	// Taints are to be written if ChangeTaints.
	Taints       []corev1.Taint
	ChangeTaints bool
	// NeedsTurn says that only with MayEvict the taints are all that they should be.
	NeedsTurn bool
	// After is when to look again; 0: when something happens.
	After time.Duration
}

// Decide says what is to be done about a node.
func Decide(in Snapshot, now time.Time) Decision {
	due := in.pass()
	unheard := !now.Before(due)
	if unheard {
		if conditions, changed := silent(in.Node, now); changed {
			return Decision{Conditions: conditions, WentSilent: isReady(in.Node)}
		}
	}
	d := Decision{Labels: missingLabels(in.Node)}
	if !unheard {
		d.After = due.Sub(now)
	}
	noExecute := noExecuteKey(in.Node)
	switch {
	case noExecute == "" || hasNoExecute(in.Node) && !in.Lost:
		// Nothing to add: at most one of ours is exchanged for another.
	case in.Lost:
		noExecute = ""
	case now.Before(in.Since.Add(settleTime)):
		noExecute = ""
		d.After = sooner(d.After, in.Since.Add(settleTime).Sub(now))
	case !in.MayEvict:
		noExecute = ""
		d.NeedsTurn = true
	}
	d.Taints, d.ChangeTaints = withTaints(in.Node, noScheduleKeys(in.Node), noExecute, now)
	return d
}

// pass is the first pass in which the node is found silent if it is not heard of
// before.
func (in *Snapshot) pass() time.Time {
	grace := in.Grace
	if condition(in.Node, corev1.NodeReady) == nil {
		grace = in.StartupGrace
	}
	deadline := in.Heard.Add(grace)
	passed := deadline.Sub(in.Epoch)
	if passed < 0 {
		return in.Epoch
	}
	return in.Epoch.Add((passed/in.Period + 1) * in.Period)
}

func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b < a {
		return b
	}
	return a
}

// silent returns the conditions of a node that is not heard of, and whether that is
// a change.
func silent(n *corev1.Node, now time.Time) ([]corev1.NodeCondition, bool) {
	conditions := append([]corev1.NodeCondition(nil), n.Status.Conditions...)
	changed := false
	for _, kind := range monitored {
		current := -1
		for i := range conditions {
			if conditions[i].Type == kind {
				current = i
			}
		}
		switch {
		case current < 0:
			changed = true
			conditions = append(conditions, corev1.NodeCondition{
				Type: kind, Status: corev1.ConditionUnknown,
				Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
				LastHeartbeatTime: n.CreationTimestamp, LastTransitionTime: metav1.NewTime(now),
			})
		case conditions[current].Status != corev1.ConditionUnknown:
			changed = true
			c := &conditions[current]
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
	return conditions, changed
}

// missingLabels are those that do not yet follow the ones that they copy.
func missingLabels(n *corev1.Node) map[string]string {
	var labels map[string]string
	for _, pair := range labelPairs {
		value, has := n.Labels[pair[0]]
		if !has || n.Labels[pair[1]] == value {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[pair[1]] = value
	}
	return labels
}
