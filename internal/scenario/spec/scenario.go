package spec

// The identity of a scenario's document, and of one that holds steps to include.
const (
	APIVersion = "minikcm.dev/v1alpha1"
	Kind       = "Scenario"
	KindSteps  = "Steps"
)

// Scenario is one document of a scenario file.
type Scenario struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       Spec     `yaml:"spec"`

	// File is where the scenario was read from, for messages and relative paths.
	File string `yaml:"-"`
}

// Metadata names a scenario.
type Metadata struct {
	// Name consists of lower case letters, digits and '-'.
	Name string `yaml:"name"`
	// Labels sort scenarios for their users, and have no effect.
	Labels map[string]string `yaml:"labels"`
}

// Spec describes a scenario: its variables, cluster, steps and invariants.
type Spec struct {
	// Description is one sentence that says what the scenario shows.
	Description string `yaml:"description"`
	// Vars are the variables that ${NAME} stands for, with their defaults; one without
	// (~) must be given by --set NAME=VALUE.
	Vars    map[string]*string `yaml:"vars"`
	Cluster Cluster            `yaml:"cluster"`
	// Timeout bounds the whole run, in the cluster's time; default 10m.
	Timeout Duration `yaml:"timeout"`
	// Fails is a part of the failure with which the run is expected to end: then the scenario
	// passes, and fails if the run does not end so.
	Fails string `yaml:"fails"`
	// Invariants must hold during the whole run.
	Invariants []Invariant `yaml:"invariants"`
	// Steps are done one after the other; the first that fails ends the run.
	Steps []Step `yaml:"steps"`
	// Finally is done at the end however the run went.
	Finally []Step `yaml:"finally"`
}

// stepsDocument is a document of kind Steps.
type stepsDocument struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       string    `yaml:"kind"`
	Metadata   Metadata  `yaml:"metadata"`
	Spec       stepsSpec `yaml:"spec"`
}

type stepsSpec struct {
	Description string             `yaml:"description"`
	Vars        map[string]*string `yaml:"vars"`
	Steps       []Step             `yaml:"steps"`
}

// Cluster describes the cluster that the scenario runs on.
type Cluster struct {
	// Nodes is the number of nodes, called node-0, node-1 and so on; default 3.
	Nodes *int `yaml:"nodes"`
	// Pools are nodes of other kinds, in addition to Nodes, which is then 0 by default.
	Pools []Pool `yaml:"pools"`
	// ManageAllNodes simulates the Nodes that steps make, too; default true. If false, only Nodes
	// are simulated that have the annotation minikcm.dev/node: simulated or kwok.x-k8s.io/node:
	// fake.
	ManageAllNodes *bool `yaml:"manageAllNodes"`
	// Clock is virtual (the default), real, or scaled=N.
	Clock string `yaml:"clock"`
	// Start is when virtual time begins, as RFC 3339 writes it; default is a Monday,
	// 2026-01-05T00:00:00Z.
	Start string `yaml:"start"`
	// Seed determines all choices; default 1.
	Seed uint64 `yaml:"seed"`
	// Controllers selects controllers as --controllers does.
	Controllers []string `yaml:"controllers"`
	// NoScheduler leaves pods unassigned.
	NoScheduler bool `yaml:"noScheduler"`
	// LeaderElection lets the controllers and the scheduler work only while they hold their leases,
	// as upstream's do: with an API server or an etcd that is too slow to renew them, they end.
	LeaderElection bool `yaml:"leaderElection"`
	// Snapshot is the file of an etcd snapshot to begin with. With it, Nodes is 0 by default.
	Snapshot string `yaml:"snapshot"`
	// Objects are files and folders of objects to begin with, as "kubectl get -A -o yaml"
	// writes them. If there are Nodes among them, Nodes is 0 by default.
	Objects []string `yaml:"objects"`
	// RedactSecrets replaces the values of the Secrets in Objects by placeholders.
	RedactSecrets bool `yaml:"redactSecrets"`
	// Stages are files and folders of kwok's Stages, ResourceUsages, ClusterResourceUsages and Metrics
	// (kwok.x-k8s.io/v1alpha1) to begin with, whose kinds are served.
	Stages []string `yaml:"stages"`
	// StartDelay is the time that a pod takes to start, unless its annotations say otherwise.
	StartDelay Duration `yaml:"startDelay"`
	// ReadyDelay is the time that a started container takes to become ready, unless the pod's
	// annotations say otherwise.
	ReadyDelay Duration `yaml:"readyDelay"`
	// ContainerStop is the time that a container takes to end; default 50ms.
	ContainerStop Duration `yaml:"containerStop"`
	// ServiceSync is the least time between two syncs of a node's rules of Services, as kube-proxy's minSyncPeriod; default 0:
	// changes are known at once.
	ServiceSync Duration `yaml:"serviceSync"`
	// CloudProvider is simulated if the nodes are in the simulated cloud, in which each has an
	// instance.
	CloudProvider string `yaml:"cloudProvider"`
	// ClusterCIDR is the range of the pods' addresses, or one of IPv4 and one of IPv6, separated by
	// a comma, of which the node-ipam-controller gives networks to the nodes; in the simulated
	// cloud there are routes to them.
	ClusterCIDR string `yaml:"clusterCIDR"`
	// IgnoreSimulatedWebhooks skips webhooks and APIServices behind which only simulated pods are, which
	// otherwise fail.
	IgnoreSimulatedWebhooks bool `yaml:"ignoreSimulatedWebhooks"`
	// ServiceRanges are the networks of cluster IPs.
	ServiceRanges []string `yaml:"serviceRanges"`
}
