package minikcm

import (
	"time"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/kubeletsim"
)

// Types of other packages in the options and methods of a Cluster, so that users of this
// package need no other.
type (
	// Pool is a group of identical nodes, NodeSpec describes one of them, and Latencies are
	// the delays of their simulated pods.
	Pool      = kubeletsim.Pool
	NodeSpec  = kubeletsim.NodeSpec
	Latencies = kubeletsim.Latencies
	// NodeImage is an image that a node has from the beginning.
	NodeImage = kubeletsim.NodeImage
	// ManageNodes selects which Nodes that clients create are simulated.
	ManageNodes = kubeletsim.ManagePolicy
	// Authentication configures how users authenticate: FrontProxy, TokenIssuer and
	// TokenWebhook are parts of it.
	Authentication = apiserver.Authentication
	FrontProxy     = apiserver.RequestHeader
	TokenIssuer    = apiserver.TokenIssuer
	TokenWebhook   = apiserver.TokenWebhook
	// AuthorizationWebhook is a webhook that reviews access.
	AuthorizationWebhook = apiserver.AuthorizationWebhook
	// Manager runs the cluster's controllers.
	Manager = controllers.Manager
	// APIFault is a fault of the requests that APIFaultMatch selects.
	APIFault      = faults.Rule
	APIFaultMatch = faults.Match
	// WebhookFault is a fault of admission webhooks.
	WebhookFault = faults.WebhookRule
	// StoreFault is a fault of StoreOperations.
	StoreFault      = faulty.Fault
	StoreOperations = faulty.Operations
)

// The operations that a StoreFault affects.
const (
	StoreReads       = faulty.Reads
	StoreWrites      = faulty.Writes
	StoreCompactions = faulty.Compactions
)

// The values of ManageNodes: simulate the clients' Nodes with the annotation
// minikcm.dev/node: simulated or kwok.x-k8s.io/node: fake (the default), all, or none.
const (
	ManageMarked = kubeletsim.ManageMarked
	ManageAll    = kubeletsim.ManageAll
	ManageNone   = kubeletsim.ManageNone
)

// MaxNodes is the largest number of simulated nodes.
const MaxNodes = kubeletsim.MaxNodes

// ErrTooManyNodes is the error of a request for more than MaxNodes nodes.
var ErrTooManyNodes = kubeletsim.ErrTooManyNodes

// The annotations of a Node that describe its devices (docs/simulation.md), and how long after its
// creation it is Ready.
const (
	AnnotationDevices    = controllers.AnnotationDevices
	AnnotationReadyDelay = kubeletsim.AnnotationReadyDelay
)

// CheckDevices returns an error if the value of AnnotationDevices is not valid.
func CheckDevices(annotation string) error {
	return controllers.CheckDevices(annotation)
}

// CheckNodes returns an error if nodes or pools cannot be simulated.
func CheckNodes(count int, node NodeSpec, pools []Pool) error {
	return kubeletsim.CheckNodes(count, node, pools)
}

// ErrNoNode is the error of Kubelets' methods for a node that is not simulated, such as one
// whose Node a client has deleted.
var ErrNoNode = kubeletsim.ErrNoNode

// ControllerNames returns the names of all controllers, as in --controllers.
func ControllerNames() []string { return controllers.Names() }

// SlowStore returns the fault of a store that takes d longer.
func SlowStore(d time.Duration) StoreFault { return faulty.Slow(d) }

// StoreUnavailable returns the fault of a store that does not respond.
func StoreUnavailable() StoreFault { return faulty.Unavailable() }

// StoreNoSpace returns the fault of a store whose disk or quota is full: it rejects writes
// that add data.
func StoreNoSpace() StoreFault { return faulty.NoSpace() }

// StoreLeaderLoss returns the fault of a store without a leader: requests wait for d and
// fail.
func StoreLeaderLoss(d time.Duration) StoreFault { return faulty.LeaderLoss(d) }
