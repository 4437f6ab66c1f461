package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/dump"
)

// Report is what came of changes.
type Report struct {
	Changes []Change `json:"changes"`
	// Fits says that no pod is left that the changes have made wait, and that no eviction
	// was refused.
	Fits bool `json:"fits"`
	// Took is how much of the fork's time passed until nothing happened any more, in
	// seconds, and Settled says that it came to that.
	Took    float64 `json:"tookSeconds"`
	Settled bool    `json:"settled"`
	// Moved are pods in whose place their controllers have made others, on other nodes or
	// on the same ones. Started are further pods, Gone pods that nothing took the place of.
	Moved   []Move    `json:"moved,omitempty"`
	Started []Placed  `json:"started,omitempty"`
	Gone    []Placed  `json:"gone,omitempty"`
	Pending []Waiting `json:"pending,omitempty"`
	Refused []Refusal `json:"refused,omitempty"`
	Nodes   []NodeUse `json:"nodes"`
	// Loaded says what the fork began with, if that were objects.
	Loaded *dump.Summary `json:"loaded,omitempty"`
}

// Pod names a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Move is a pod whose place another one has taken. To is empty while that one is pending.
type Move struct {
	Pod  Pod    `json:"pod"`
	From string `json:"from"`
	As   Pod    `json:"as"`
	To   string `json:"to,omitempty"`
	// Preempted says that the pod had to go for one of a higher priority.
	Preempted bool `json:"preempted,omitempty"`
}

// Placed is a pod with its node; empty: none.
type Placed struct {
	Pod  Pod    `json:"pod"`
	Node string `json:"node,omitempty"`
	// Preempted says that the pod had to go for one of a higher priority.
	Preempted bool `json:"preempted,omitempty"`

	// owner is what controls the pod.
	owner types.UID
}

// Waiting is a pod that does not run.
type Waiting struct {
	Pod  Pod    `json:"pod"`
	Node string `json:"node,omitempty"`
	// Reason is the scheduler's message, or the kubelet's.
	Reason string `json:"reason"`
	// Before says that the pod was waiting before the changes.
	Before bool `json:"before,omitempty"`
}

// Refusal is an eviction that a PodDisruptionBudget has refused to the end.
type Refusal struct {
	Pod    Pod    `json:"pod"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// NodeUse is what the pods of a node request, before and after; nil: the node is not there.
type NodeUse struct {
	Name   string `json:"name"`
	Before *Use   `json:"before,omitempty"`
	After  *Use   `json:"after,omitempty"`
}

// Use is what is requested of a node and what the node has, by resource. Pods are a resource.
type Use struct {
	Requested   map[string]string `json:"requested"`
	Allocatable map[string]string `json:"allocatable"`
	// Unschedulable says that the node is cordoned.
	Unschedulable bool `json:"unschedulable,omitempty"`

	requested, allocatable amounts
}

// Fit is how many more replicas of a workload fit.
type Fit struct {
	Target   Target `json:"target"`
	Replicas int    `json:"replicas"`
	// More is how many replicas can be added. AtLeast says that more were not asked for.
	More    int  `json:"more"`
	AtLeast bool `json:"atLeast,omitempty"`
	// Wanted is how many replicas were asked for; 0: as many as fit.
	Wanted int `json:"wanted,omitempty"`
	// Stops says what keeps the next replica from running: the scheduler's message, or what
	// keeps it from being made. Nodes has what is against each node.
	Stops string        `json:"stops,omitempty"`
	Nodes []NodeReasons `json:"nodes,omitempty"`
	// On counts the added replicas on each node.
	On []NodeCount `json:"on,omitempty"`
	// Displaced are pods of lower priority that had to go.
	Displaced []Placed      `json:"displaced,omitempty"`
	Loaded    *dump.Summary `json:"loaded,omitempty"`
}

// NodeReasons is what is against a node.
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
