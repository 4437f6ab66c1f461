package minikcm

import (
	"time"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/accessrecord"
	"minikcm.dev/minikcm/internal/assembly/bootstrap"
	"minikcm.dev/minikcm/internal/assembly/kubeconfig"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/kubeletsim"
	"minikcm.dev/minikcm/store"
)

// The types of the options and methods of a Cluster have names in this package, so that its users need no
// other, and so that the other packages can change.

const (
	// AdminUser is the user of the kubeconfig and of Config, in the group system:masters.
	AdminUser = "kubernetes-admin"
	// ContextName is the name of the cluster, the context and the user in the kubeconfigs that
	// clusters write.
	ContextName = kubeconfig.ContextName
	// ConfigExtension is the name of the extension that marks a cluster in a kubeconfig as one
	// of minikcm: {"version": VERSION}.
	ConfigExtension = kubeconfig.Extension
	// DefaultStorageClass is the name of the default StorageClass that a cluster without any
	// StorageClass gets if its controllers include the simulated-volume-provisioner. Its volumes
	// are created when a pod uses their claim, and every node can use them.
	DefaultStorageClass = bootstrap.DefaultStorageClass
)

// Pool is a group of identical nodes.
type Pool = kubeletsim.Pool

// NodeSpec describes a node: its labels, taints, capacity and images.
type NodeSpec = kubeletsim.NodeSpec

// NodeImage is an image that a node has from the beginning.
type NodeImage = kubeletsim.NodeImage

// Latencies are the delays of simulated pods.
type Latencies = kubeletsim.Latencies

// ManageNodes selects which Nodes that clients create are simulated.
type ManageNodes = kubeletsim.ManagePolicy

// The values of ManageNodes: simulate the clients' Nodes with the annotation minikcm.dev/node: simulated or
// kwok.x-k8s.io/node: fake (the default), all, or none.
const (
	ManageMarked = kubeletsim.ManageMarked
	ManageAll    = kubeletsim.ManageAll
	ManageNone   = kubeletsim.ManageNone
)

// Kubelets are the simulated kubelets of a cluster, whose methods also inject faults of nodes and pods.
type Kubelets = kubeletsim.Kubelets

// MaxNodes is the largest number of simulated nodes.
const MaxNodes = kubeletsim.MaxNodes

// ErrTooManyNodes is the error of a request for more than MaxNodes nodes.
var ErrTooManyNodes = kubeletsim.ErrTooManyNodes

// ErrNoNode is the error of Kubelets' methods for a node that is not simulated, such as one whose Node a
// client has deleted.
var ErrNoNode = kubeletsim.ErrNoNode

// AnnotationDevices is the annotation of a Node that describes its devices (docs/simulation.md).
const AnnotationDevices = controllers.AnnotationDevices

// AnnotationReadyDelay is the annotation of a Node that says how long after its creation it is Ready.
const AnnotationReadyDelay = kubeletsim.AnnotationReadyDelay

// CheckDevices returns an error if the value of AnnotationDevices is not valid.
func CheckDevices(annotation string) error { return controllers.CheckDevices(annotation) }

// CheckNodes returns an error if count nodes like node, and the pools, cannot be simulated.
func CheckNodes(count int, node NodeSpec, pools []Pool) error {
	return kubeletsim.CheckNodes(count, node, pools)
}

// StageManifest is an object of one of kwok's kinds.
type StageManifest = kwok.Manifest

// Authentication configures how users authenticate besides the cluster's own certificates and tokens.
type Authentication = apiserver.Authentication

// FrontProxy trusts an authenticating proxy, which names the user in headers.
type FrontProxy = apiserver.RequestHeader

// TokenIssuer trusts the tokens of an OpenID Connect provider.
type TokenIssuer = apiserver.TokenIssuer

// TokenWebhook asks a webhook who the bearer of a token is.
type TokenWebhook = apiserver.TokenWebhook

// AuthorizationWebhook asks a webhook whether a request is allowed.
type AuthorizationWebhook = apiserver.AuthorizationWebhook

// Audit says which requests are recorded, and where the records go.
type Audit = apiserver.AuditOptions

// DefaultAudit returns the audit options that kube-apiserver has by default.
func DefaultAudit() Audit { return apiserver.DefaultAuditOptions() }

// AccessRecording is a recording of a user's requests to the API server.
type AccessRecording = accessrecord.Recording

// Manager runs the cluster's controllers, and injects their faults.
type Manager = controllers.Manager

// ControllerStatus is the state of a controller.
type ControllerStatus = controllers.Status

// ControllerLoop is a work queue of a controller with the workers that reconcile its keys.
type ControllerLoop = loop.Loop

// ControllerNames returns the names of all controllers, as ControllerOptions.Selected has them.
func ControllerNames() []string { return controllers.Names() }

// EtcdOptions connect to an existing etcd cluster.
type EtcdOptions = store.EtcdOptions

// CheckReport lists the damaged parts of a store.
type CheckReport = store.CheckReport

// RepairReport lists the parts of a store that a repair has kept and left out.
type RepairReport = store.RepairReport

// Objects are objects that a cluster has from the beginning, as "kubectl get -A -o yaml" prints them.
type Objects = dump.Dump

// LoadSummary says which Objects were loaded, and which were not and why.
type LoadSummary = dump.Summary

// ObjectIndex has the objects that the API server has in memory, by kind, owner and name.
type ObjectIndex = reasons.Index

// ReasonReport explains why an object is not as expected.
type ReasonReport = reasons.Report

// APIFaults are the faults of an API server.
type APIFaults = faults.Faults

// APIFault is a fault of the requests that APIFaultMatch selects.
type APIFault = faults.Rule

// APIFaultMatch selects requests.
type APIFaultMatch = faults.Match

// WebhookFault is a fault of admission webhooks.
type WebhookFault = faults.WebhookRule

// FaultyStore is the store of a cluster, with the faults that it has.
type FaultyStore = faulty.Store

// StoreFault is a fault of StoreOperations.
type StoreFault = faulty.Fault

// StoreOperations are a set of operations of the store.
type StoreOperations = faulty.Operations

// The operations that a StoreFault affects.
const (
	StoreReads       = faulty.Reads
	StoreWrites      = faulty.Writes
	StoreCompactions = faulty.Compactions
)

// SlowStore returns the fault of a store that takes d longer.
func SlowStore(d time.Duration) StoreFault { return faulty.Slow(d) }

// StoreUnavailable returns the fault of a store that does not respond.
func StoreUnavailable() StoreFault { return faulty.Unavailable() }

// StoreNoSpace returns the fault of a store whose disk or quota is full: it rejects writes that add data.
func StoreNoSpace() StoreFault { return faulty.NoSpace() }

// StoreLeaderLoss returns the fault of a store without a leader: requests wait for d and fail.
func StoreLeaderLoss(d time.Duration) StoreFault { return faulty.LeaderLoss(d) }
