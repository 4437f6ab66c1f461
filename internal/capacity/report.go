package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// Verdict is an answer in one word.
type Verdict string

const (
	// Fits means that no further pod stays without a node and no drain stays unfinished.
	Fits Verdict = "fits"
	// DoesNotFit is the opposite.
	DoesNotFit Verdict = "does not fit"
	// Uncertain means that the answer depends on something that the fork does not have.
	Uncertain Verdict = "uncertain"
)

// Report is the effect of changes.
type Report struct {
	Changes []Change `json:"changes"`
	Verdict Verdict  `json:"verdict"`
	// Fits is true if the changes left no further pod pending, no controller without a pod that it had,
	// and all drains were completed, and the traffic met its objectives.
	Fits bool `json:"fits"`
	// Uncertain are the reasons why the verdict is uncertain.
	Uncertain []string `json:"uncertain,omitempty"`
	// Took is the time until the last relevant change, in seconds of the fork's time. Settled
	// is false if the fork was still changing after Options.For.
	Took    float64 `json:"tookSeconds"`
	Settled bool    `json:"settled"`
	// Drains are the drains by node, in their order.
	Drains []DrainResult `json:"drains,omitempty"`
	// Added are nodes that the autoscaler of Options.NodeGroups adds, and Helpless are its groups that
	// help none of the pods that stay pending.
	Added    []Added    `json:"added,omitempty"`
	Helpless []Helpless `json:"helpless,omitempty"`
	// Scaled lists the changes that autoscalers made.
	Scaled []Scaled `json:"scaled,omitempty"`
	// Removable are the nodes that a consolidation removes, in this order, and Kept are the others.
	Removable []string `json:"removable,omitempty"`
	Kept      []Kept   `json:"kept,omitempty"`
	// Moved are pods that their controllers replaced, on other nodes or on the same ones.
	// Started are further new pods, and Gone are pods without a replacement.
	Moved   []Move    `json:"moved,omitempty"`
	Started []Placed  `json:"started,omitempty"`
	Gone    []Placed  `json:"gone,omitempty"`
	Pending []Waiting `json:"pending,omitempty"`
	Refused []Refusal `json:"refused,omitempty"`
	// Rejected are objects of applied files that the API server refuses.
	Rejected []Rejection `json:"rejected,omitempty"`
	// Short are controllers that lack further pods.
	Short []Shortfall `json:"short,omitempty"`
	// Leaving are pods that were evicted and do not end.
	Leaving []Leaving `json:"leaving,omitempty"`
	// Waited are waits that ended, the longest first.
	Waited []Wait `json:"waited,omitempty"`
	// Assumed are pods that ail in the fork because they, or those that they replace, did before.
	Assumed []Assumed `json:"assumed,omitempty"`
	// Traffic says what became of the requests of each route.
	Traffic []runrecord.Traffic `json:"traffic,omitempty"`
	// Remedies lets fewer requests fail; see Fork.Advise.
	Remedies []Remedy  `json:"remedies,omitempty"`
	Nodes    []NodeUse `json:"nodes"`
	// Loaded is the summary of the dump that was forked, or nil for other sources.
	Loaded *dump.Summary `json:"loaded,omitempty"`

	// remedied is the report with all Remedies; nil: there is none.
	remedied *Report
	// begun is when the changes were made.
	begun time.Time
}

// lasts makes Took reach at least until a time.
func (r *Report) lasts(until time.Time) { r.Took = max(r.Took, seconds(until.Sub(r.begun))) }

// Answer returns the verdict.
func (r *Report) Answer() Verdict { return r.Verdict }

// DrainResult is the outcome of the drain of one node.
type DrainResult struct {
	Node string `json:"node"`
	// Done means that all pods to evict are gone, Took seconds after the drain of the node began: it was
	// cordoned then, or the node before it in the same drain was done.
	Done bool    `json:"done"`
	Took float64 `json:"tookSeconds,omitempty"`
	// Failure is why the node is not drained, in kubectl's words: it is not for evictions that are
	// still refused.
	Failure  string   `json:"failure,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// ReplacedBy is the new node of an upgrade. Waiting means that the upgrade has not come to the node.
	ReplacedBy string `json:"replacedBy,omitempty"`
	Waiting    bool   `json:"waiting,omitempty"`
}

// The things that a pod waits for.
const (
	WaitEviction = "eviction"
	WaitReady    = "ready"
)

// Wait is a time in which a pod waited: to be evicted, or to get ready.
type Wait struct {
	Pod     Pod     `json:"pod"`
	Node    string  `json:"node,omitempty"`
	For     string  `json:"for"`
	Seconds float64 `json:"seconds"`
	Reason  string  `json:"reason,omitempty"`

	since, until time.Time
}

// Leaving is a pod that was evicted and has not ended.
type Leaving struct {
	Pod        Pod      `json:"pod"`
	Node       string   `json:"node"`
	Finalizers []string `json:"finalizers,omitempty"`
}

// Assumed is a pod of which the fork assumes that something is wrong with it.
type Assumed struct {
	Pod Pod `json:"pod"`
	// Replaces is the name of the pod that it replaces; empty: the pod itself was there before.
	Replaces  string `json:"replaces,omitempty"`
	Container string `json:"container,omitempty"`
	What      string `json:"what"`
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

// Use compares the pods' requests on a node with the node's allocatable resources, which include
// pods.
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
	// Homeless is the number of new pods of other workloads, such as those that replace displaced ones,
	// that get no node.
	Displaced []Placed `json:"displaced,omitempty"`
	Homeless  int      `json:"homeless,omitempty"`
	// Added are nodes that the autoscaler of Options.NodeGroups adds.
	Added   []Added `json:"added,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Uncertain are the reasons why the verdict is uncertain.
	Uncertain []string      `json:"uncertain,omitempty"`
	Loaded    *dump.Summary `json:"loaded,omitempty"`
}

// Answer returns the verdict.
func (f *Fit) Answer() Verdict { return f.Verdict }

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
