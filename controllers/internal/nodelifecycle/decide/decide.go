package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settleTime is the time that a node has to be not ready before it can be tainted
// NoExecute. Until then, all nodes that were lost in one pass have been observed.
const settleTime = 100 * time.Millisecond

// labelPairs are labels of which the second is set to the value of the first.
var labelPairs = [][2]string{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// monitored are the conditions that only the kubelet reports.
var monitored = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

// Snapshot is the input of a decision about a node.
type Snapshot struct {
	Node *corev1.Node
	// Heard is the time of the node's last heartbeat, and Since the time at which its Ready
	// condition was first observed with its present status.
	Heard, Since time.Time
	// Grace is the allowed time without a heartbeat, and StartupGrace the allowed time for a node
	// that has not posted a status yet.
	Grace, StartupGrace time.Duration
	// Passes begin at Epoch, at intervals of Period; silent nodes are detected at passes
	// only.
	Epoch  time.Time
	Period time.Duration
	// Beats is true if heartbeats go on without being heard: their end will be.
	Beats bool
	// Lost is true if no node of the cluster is ready: then nothing is evicted.
	Lost bool
	// MayEvict is true if the zone allows this node to be tainted NoExecute now.
	MayEvict bool
}

// Decision is the decision about a node.
type Decision struct {
	// Conditions are to be written; nil: they need no change. The other changes wait until
	// the conditions are written.
	Conditions []corev1.NodeCondition
	// WentSilent is true if the conditions change the node from ready to Unknown.
	WentSilent bool
	// Labels are the labels to set.
	Labels map[string]string
	// Taints replace the node's taints if ChangeTaints is set.
	Taints       []corev1.Taint
	ChangeTaints bool
	// NeedsTurn is true if a taint is missing only because MayEvict is false.
	NeedsTurn bool
	// After is the delay until the next decision; 0: it waits for an event.
	After time.Duration
}

// Within lowers the delay until the next decision to at most wait, which is not 0.
func (d *Decision) Within(wait time.Duration) {
	if d.After <= 0 || wait < d.After {
		d.After = wait
	}
}

// Node returns the changes to a node.
func Node(in Snapshot, now time.Time) Decision {
	due := in.pass()
	overdue := !in.Beats && !now.Before(due)
	if overdue {
		if conditions, changed := silent(in.Node, now); changed {
			return Decision{Conditions: conditions, WentSilent: isReady(in.Node)}
		}
	}
	d := Decision{Labels: missingLabels(in.Node)}
	if !overdue && !in.Beats {
		d.After = due.Sub(now)
	}
	noExecute := noExecuteKey(in.Node)
	switch {
	case noExecute == "" || hasNoExecute(in.Node) && !in.Lost:
		// No taint is added: at most one of ours replaces another.
	case in.Lost:
		noExecute = ""
	case now.Before(in.Since.Add(settleTime)):
		noExecute = ""
		d.Within(in.Since.Add(settleTime).Sub(now))
	case !in.MayEvict:
		noExecute = ""
		d.NeedsTurn = true
	}
	d.Taints, d.ChangeTaints = withTaints(in.Node, noScheduleKeys(in.Node), noExecute, now)
	return d
}

// pass returns the first pass at which the node counts as silent if no heartbeat arrives
// before.
func (in *Snapshot) pass() time.Time {
	grace := in.Grace
	if ConditionOf(in.Node, corev1.NodeReady) == nil {
		grace = in.StartupGrace
	}
	deadline := in.Heard.Add(grace)
	passed := deadline.Sub(in.Epoch)
	if passed < 0 {
		return in.Epoch
	}
	return in.Epoch.Add((passed/in.Period + 1) * in.Period)
}

// silent returns the conditions of a silent node, and whether they differ from the present
// ones.
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

// missingLabels returns the second labels of labelPairs that differ from the first ones.
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
