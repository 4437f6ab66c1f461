package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/dump"
)

// Report is the effect of changes.
type Report struct {
	Changes []Change `json:"changes"`
	// Fits is true if the changes left no further pod pending and no eviction was refused.
	Fits bool `json:"fits"`
	// Took is the time until the last relevant write, in seconds of the fork's time. Settled
	// is false if the fork was still changing after Options.For.
	Took    float64 `json:"tookSeconds"`
	Settled bool    `json:"settled"`
	// Moved are pods that their controllers replaced, on other nodes or on the same ones.
	// Started are further new pods, and Gone are pods without a replacement.
	Moved   []Move    `json:"moved,omitempty"`
	Started []Placed  `json:"started,omitempty"`
	Gone    []Placed  `json:"gone,omitempty"`
	Pending []Waiting `json:"pending,omitempty"`
	Refused []Refusal `json:"refused,omitempty"`
	Nodes   []NodeUse `json:"nodes"`
	// Loaded is the summary of the dump that was forked, or nil for other sources.
	Loaded *dump.Summary `json:"loaded,omitempty"`
}

// Pod names a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Move is a pod that was replaced by the pod As. To is empty while As is pending.
type Move struct {
	Pod  Pod    `json:"pod"`
	From string `json:"from"`
	As   Pod    `json:"as"`
	To   string `json:"to,omitempty"`
	// Preempted is true if the scheduler preempted the pod for one of a higher priority.
	Preempted bool `json:"preempted,omitempty"`
}

// Placed is a pod with its node. Node is empty if it has none.
type Placed struct {
	Pod  Pod    `json:"pod"`
	Node string `json:"node,omitempty"`
	// Preempted is true if the scheduler preempted the pod for one of a higher priority.
	Preempted bool `json:"preempted,omitempty"`

	// owner is the UID of the pod's controller.
	owner types.UID
}

// Waiting is a pending pod.
type Waiting struct {
	Pod  Pod    `json:"pod"`
	Node string `json:"node,omitempty"`
	// Reason is the scheduler's message, or the kubelet's.
	Reason string `json:"reason"`
	// Before is true if the pod was already pending before the changes.
	Before bool `json:"before,omitempty"`
}

// Refusal is an eviction that a PodDisruptionBudget refused until the end.
type Refusal struct {
	Pod    Pod    `json:"pod"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// NodeUse is the use of a node before and after the changes, or nil where the node does not
// exist.
type NodeUse struct {
	Name   string `json:"name"`
	Before *Use   `json:"before,omitempty"`
	After  *Use   `json:"after,omitempty"`
}

// Use is what pods request of a node and what the node has, by resource, including pods.
type Use struct {
	Requested   map[string]string `json:"requested"`
	Allocatable map[string]string `json:"allocatable"`
	// Unschedulable is true if the node is cordoned.
	Unschedulable bool `json:"unschedulable,omitempty"`

	requested, allocatable amounts
}

// Fit is the answer to how many more replicas of a workload fit.
type Fit struct {
	Target   Target `json:"target"`
	Replicas int    `json:"replicas"`
	// More is the number of replicas that can be added. AtLeast is true if all that were
	// tried fit, so that more may fit.
	More    int  `json:"more"`
	AtLeast bool `json:"atLeast,omitempty"`
	// Wanted is the total number of replicas asked for, or 0 for as many as fit.
	Wanted int `json:"wanted,omitempty"`
	// Stops is the reason why the next replica does not run: the scheduler's message, or why
	// the pod is not created. Nodes are the reasons why each node is rejected.
	Stops string        `json:"stops,omitempty"`
	Nodes []NodeReasons `json:"nodes,omitempty"`
	// On counts the added replicas on each node.
	On []NodeCount `json:"on,omitempty"`
	// Displaced are pods of lower priority that were preempted.
	Displaced []Placed      `json:"displaced,omitempty"`
	Loaded    *dump.Summary `json:"loaded,omitempty"`
}

// NodeReasons are the reasons why a node is rejected.
type NodeReasons struct {
	Node    string   `json:"node"`
	Reasons []string `json:"reasons"`
}

// NodeCount is a number of pods on a node.
type NodeCount struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
