package minikcm

import (
	"time"

	"minikcm.dev/minikcm/apiserver/faults"
	"minikcm.dev/minikcm/controllers/manager"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/store/faulty"
)

// What the options and the methods of a Cluster speak of has a name here too, so that
// who builds on this package needs no other.
type (
	// Pool are nodes that are alike, NodeSpec what each of them is, and Latencies how
	// long their simulated pods take.
	Pool      = nodes.Pool
	NodeSpec  = nodes.Spec
	Latencies = lifecycle.Latencies
	// ManageNodes says which Nodes are simulated that clients make.
	ManageNodes = nodes.ManagePolicy
	// Manager runs the cluster's controllers.
	Manager = manager.Manager
	// APIFault is what happens to requests that APIFaultMatch meets.
	APIFault      = faults.Rule
	APIFaultMatch = faults.Match
	// StoreFault is what happens to StoreOperations.
	StoreFault      = faulty.Fault
	StoreOperations = faulty.Operations
)

// What a StoreFault meets.
const (
	StoreReads       = faulty.Reads
	StoreWrites      = faulty.Writes
	StoreCompactions = faulty.Compactions
)

// Which Nodes are simulated that clients make: those with the annotation minikcm.dev/node:
// simulated or kwok.x-k8s.io/node: fake (the default), all, or none.
const (
	ManageMarked = nodes.ManageMarked
	ManageAll    = nodes.ManageAll
	ManageNone   = nodes.ManageNone
)

// MaxNodes is how many nodes can be simulated.
const MaxNodes = nodes.MaxNodes

// ErrTooManyNodes is the error of asking for more.
var ErrTooManyNodes = nodes.ErrTooManyNodes

// CheckNodes refuses what nodes and pools cannot be made of.
func CheckNodes(count int, node NodeSpec, pools []Pool) error {
	return nodes.Check(count, node, pools)
}

// ErrNoNode is the error of Kubelets' methods for a node that is not simulated, such as one
// whose Node a client has made and deleted.
var ErrNoNode = kubeletsim.ErrNoNode

// ControllerNames are the names of all controllers, as --controllers takes them.
func ControllerNames() []string { return manager.Names() }

// SlowStore is a store that takes d longer.
func SlowStore(d time.Duration) StoreFault { return faulty.Slow(d) }

// StoreUnavailable is a store that does not answer.
func StoreUnavailable() StoreFault { return faulty.Unavailable() }

// StoreNoSpace is a store whose disk or quota is full: what adds to it is refused.
func StoreNoSpace() StoreFault { return faulty.NoSpace() }

// StoreLeaderLoss is a store whose cluster has lost its leader: requests wait for d and fail.
func StoreLeaderLoss(d time.Duration) StoreFault { return faulty.LeaderLoss(d) }
