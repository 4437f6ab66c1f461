package minikcm

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/manager"
	"minikcm.dev/minikcm/dump"
	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/store"
)

// Options describe a cluster. The zero value is an ephemeral one of one node on
// the machine's time, reachable over HTTPS on a free port of the loopback
// interface.
type Options struct {
	// Nodes is how many simulated nodes there are. 0 is one; negative is none.
	Nodes int
	// Node is what each of them is like, and Pools are nodes of other kinds.
	Node  nodes.Spec
	Pools []nodes.Pool
	// ManageNodes says which Nodes are simulated that clients make through the API: those
	// that are marked (the default), all, or none.
	ManageNodes nodes.ManagePolicy
	// Latencies are those of the nodes. ContainerStop is 50 ms unless it says
	// otherwise, so that pods can be seen to terminate; negative is no time at all.
	Latencies lifecycle.Latencies

	// DataDir keeps the cluster over restarts, with fsync. Empty: everything is in
	// a temporary directory that Close removes.
	DataDir string
	// Identity is that of an earlier cluster (Cluster.Identity), which an ephemeral cluster
	// takes the place of: it goes on to accept its kubeconfigs, certificates and tokens, and
	// its resource versions are later. Nil: a new one.
	Identity *Identity
	// Snapshot is the file of an etcd snapshot, of a minikcm's or of another cluster's
	// etcd, that an ephemeral cluster begins with. A virtual clock had better not
	// start before the snapshot was taken.
	Snapshot string
	// Objects are loaded before the controllers and the nodes begin, so that they find them
	// as if they had made them: see package dump. Cluster.Loaded says what became of them.
	// Their Nodes are simulated as ManageNodes says.
	Objects *dump.Dump
	// Etcd uses an etcd cluster that is there already, if it names endpoints. Its
	// DialTimeout is 5 s unless it says otherwise.
	Etcd store.EtcdOptions

	// StoreFaults puts a store between that fails on demand: Cluster.StoreFaults.
	StoreFaults bool
	// APIFaults lets the API server fail on demand: Cluster.APIFaults.
	APIFaults bool

	// Extensions serve more beneath /minikcm/v1/ than the cluster does by itself. Start
	// starts them in their order, and Close closes them before all else.
	Extensions []Extension

	// NoHTTPS leaves out the socket: only clients in the process reach the cluster.
	NoHTTPS bool
	// BindAddress is the IP address to listen on; empty is 127.0.0.1.
	BindAddress string
	// Port is the port to listen on; 0 is a free one.
	Port int
	// AdvertiseAddress is the IP address at which the endpoints of the Service kubernetes
	// say that the API server is. Empty: the one listened on or, as Endpoints may not name
	// the loopback interface, the machine's first other one, or a simulated one.
	AdvertiseAddress string
	// ServiceRanges are the networks of cluster IPs: one, or one of each family, the
	// default family first. Empty is 10.96.0.0/16. NodePorts is the range of node ports,
	// such as 30000-32767, the default.
	ServiceRanges []string
	NodePorts     string
	// MaxRequests and MaxMutatingRequests are how many requests over HTTPS are served at
	// once, watches and the like not counted: reads, and all others. 0 is 400 and 200,
	// negative no limit.
	MaxRequests, MaxMutatingRequests int
	// KubeconfigPath is where the administrator's kubeconfig is written; empty: it
	// is not. An existing file is replaced only if it is a kubeconfig of minikcm's.
	// Close removes what was written.
	KubeconfigPath string

	// ClockMode is real (the default), scaled or virtual.
	ClockMode clock.Mode
	// ClockFactor is how many times faster a scaled clock runs.
	ClockFactor float64
	// ClockStart is the time at which a virtual clock begins; the zero time is
	// DefaultClockStart.
	ClockStart time.Time
	// Seed determines names, UIDs and all other choices of chance; 0 is a new seed.
	Seed uint64

	// Gatherer has figures of the process, which /metrics serves besides the API
	// server's; nil: there are none.
	Gatherer prometheus.Gatherer

	// Driven lets a virtual cluster's controllers and nodes work only while somebody
	// waits for it: in Advance, Wait or Until, or for its Ledger to be idle. What the one
	// who drives it does in between is done before they take notice, so that one seed
	// gives one course of events.
	Driven bool

	// Controllers selects them as kube-controller-manager's --controllers does: "*"
	// is all that are on by default, "name" adds one, "-name" leaves one out. Empty
	// is "*".
	Controllers []string
	// NoScheduler leaves pods unassigned, for those who bring a scheduler.
	NoScheduler bool
	// NoWait lets Start return before the nodes are Ready.
	NoWait bool
	// CompactionInterval is how often the store forgets old history, on the
	// cluster's clock. 0 is five minutes, negative is never.
	CompactionInterval time.Duration
	Logger             klog.Logger
}

// DefaultClockStart is when virtual time begins unless told otherwise: a Monday,
// midnight UTC, so that schedules are easy to reckon with.
var DefaultClockStart = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// etcdDialTimeout is how long an external etcd may take to answer.
const etcdDialTimeout = 5 * time.Second

// Validate refuses what cannot work, before anything is started. Start calls it.
func (o *Options) Validate() error {
	if o.DataDir != "" && len(o.Etcd.Endpoints) > 0 {
		return fmt.Errorf("a data directory (%s) and an external etcd were both given: choose one", o.DataDir)
	}
	if o.Identity != nil && o.DataDir != "" {
		return fmt.Errorf("an identity and a data directory (%s), which has its own, were both given: choose one", o.DataDir)
	}
	if o.Snapshot != "" && (o.DataDir != "" || len(o.Etcd.Endpoints) > 0) {
		return fmt.Errorf("only a cluster of its own begins with a snapshot (%s), none with a data directory or an external etcd: restore the snapshot to it first", o.Snapshot)
	}
	if err := o.validateObjects(); err != nil {
		return err
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is not between 0 and 65535", o.Port)
	}
	if o.BindAddress != "" && net.ParseIP(o.BindAddress) == nil {
		return fmt.Errorf("bind address %q is not an IP address", o.BindAddress)
	}
	if _, err := o.network(); err != nil {
		return err
	}
	switch o.ClockMode {
	case "", clock.ModeReal, clock.ModeVirtual:
	case clock.ModeScaled:
		if !(o.ClockFactor > 0) || math.IsInf(o.ClockFactor, 1) { // not a number is neither
			return fmt.Errorf("a scaled clock needs a factor above 0, not %v", o.ClockFactor)
		}
	default:
		return fmt.Errorf("clock %q is none of %s, %s, %s", o.ClockMode, clock.ModeReal, clock.ModeScaled, clock.ModeVirtual)
	}
	if _, err := manager.ParseSelection(strings.Join(o.Controllers, ",")); err != nil {
		return err
	}
	if err := validateExtensions(o.Extensions); err != nil {
		return err
	}
	if err := nodes.Check(max(o.Nodes, 0), o.Node, o.Pools); err != nil {
		return err
	}
	return o.ManageNodes.Validate()
}

// containerStop is how long a container takes to end unless it is told: a client that
// deletes a pod and looks at it at once finds it terminating, as in any cluster.
const containerStop = 50 * time.Millisecond

func (o *Options) complete() {
	switch {
	case o.Nodes == 0:
		o.Nodes = 1
	case o.Nodes < 0:
		o.Nodes = 0
	}
	if o.ClockStart.IsZero() {
		o.ClockStart = DefaultClockStart
	}
	o.Latencies.ContainerStop = max(cmp.Or(o.Latencies.ContainerStop, containerStop), 0)
	if o.Seed == 0 {
		o.Seed = clock.NewSeed()
	}
	if o.Etcd.DialTimeout == 0 {
		o.Etcd.DialTimeout = etcdDialTimeout
	}
	if len(o.Controllers) == 0 {
		o.Controllers = []string{"*"}
	}
}
