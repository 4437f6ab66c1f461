package kubeletsim

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/gatewayrunner"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/kwokwatch"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
	"minikcm.dev/minikcm/kubeletsim/internal/stagerunner"
	"minikcm.dev/minikcm/kubeletsim/internal/staticpods"
)

type (
	// NodeSpec describes a node, and Pool a number of identical ones.
	NodeSpec = nodes.Spec
	Pool     = nodes.Pool
	// NodeImage is an image that a node has from the beginning.
	NodeImage = lifecycle.Image
	// Latencies are the delays of simulated pods.
	Latencies = lifecycle.Latencies
	// ManagePolicy selects which Nodes that clients create are simulated.
	ManagePolicy = nodes.ManagePolicy
	// Families are the IP families of nodes and pods, in the order of their addresses.
	Families = nodes.Families
)

// The values of ManagePolicy.
const (
	ManageMarked = nodes.ManageMarked
	ManageAll    = nodes.ManageAll
	ManageNone   = nodes.ManageNone
)

const (
	// MaxNodes is the largest number of simulated nodes.
	MaxNodes = nodes.MaxNodes
	// AnnotationNode marks, with the value Simulated, the Nodes that the simulation registers.
	AnnotationNode = nodes.AnnotationNode
	Simulated      = nodes.Simulated
	// AnnotationReadyDelay says how long after its creation a Node is Ready.
	AnnotationReadyDelay = podspec.AnnotationReadyDelay

	// LabelRegistry marks a ConfigMap as a list of the images that exist, and RegistryKey is its key.
	LabelRegistry = images.LabelRegistry
	RegistryKey   = images.RegistryKey
)

// The courses of a container that an Assumption can have.
const (
	Crashes      = lifecycle.Crashes
	NeverReady   = lifecycle.NeverReady
	NeverStarted = lifecycle.NeverStarted
	Lasts        = lifecycle.Lasts
)

// CatalogNone is the text of a catalog of images without profiles.
const CatalogNone = images.CatalogNone

// CatalogEntry is a profile of the catalog of images.
type CatalogEntry struct {
	// Name is the name of the profile, Images the references of its images, and Listens the ports of its servers as its
	// description has them.
	Name    string   `json:"name"`
	Listens string   `json:"listens"`
	Images  []string `json:"images"`
	// Data is the content of a ConfigMap with the profile.
	Data map[string]string `json:"data"`
}

// ImageCatalog returns the profiles of a catalog: the built-in one if the text is empty, none for CatalogNone, and else the
// ConfigMaps of a text of YAML.
func ImageCatalog(text string) ([]CatalogEntry, error) {
	catalog, err := images.NewCatalog(text)
	if err != nil {
		return nil, err
	}
	entries, err := catalog.Entries()
	if err != nil {
		return nil, err
	}
	all := make([]CatalogEntry, 0, len(entries))
	for _, e := range entries {
		all = append(all, CatalogEntry{e.Name, servers.Ports(e.Data["server"]), e.Images, e.Data})
	}
	return all, nil
}

// ErrTooManyNodes is the error of a request for more than MaxNodes nodes.
var ErrTooManyNodes = nodes.ErrTooManyNodes

// CheckNodes returns an error if count nodes like spec, and the pools, cannot be simulated.
func CheckNodes(count int, spec NodeSpec, pools []Pool) error { return nodes.Check(count, spec, pools) }

// NodeNames returns the names of count nodes without a pool and of the pools' nodes, in the order in which
// they are made.
func NodeNames(count int, pools []Pool) []string { return nodes.Names(count, pools) }

// NodeSpecLike describes nodes like an existing one, without the values that are unique to that Node or follow from its
// conditions.
func NodeSpecLike(node *corev1.Node) NodeSpec { return nodes.SpecLike(node) }

// PoolOf returns the pool and the number in the name of a node, such as web and 3 for web-3. The pool is empty for a name without a number.
func PoolOf(name string) (pool string, number int) { return nodes.PoolOf(name) }

// NodeFor returns the Node that a client creates for a node to be simulated.
func NodeFor(name string, spec *NodeSpec) *corev1.Node { return nodes.ObjectFor(name, spec) }

// FamiliesOf returns the families of ranges of addresses, in their order.
func FamiliesOf(ranges []string) Families { return nodes.FamiliesOf(ranges) }

// IsDelayed reports whether a Node is Ready only some time after its creation.
func IsDelayed(node *corev1.Node) bool { return nodes.IsDelayed(node) }

// AwaitsNetwork reports whether the condition Ready of a node says that it waits for its network.
func AwaitsNetwork(ready *corev1.NodeCondition) bool { return nodes.AwaitsNetwork(ready) }

// The labels of ConfigMaps that are image profiles and folders of static pods, and the annotation of such a folder with a selector of
// nodes.
const (
	LabelImage             = images.LabelImage
	LabelStaticPods        = staticpods.LabelStaticPods
	AnnotationNodeSelector = staticpods.AnnotationNodeSelector
)

// CheckImageProfile returns what cannot be read in an image profile.
func CheckImageProfile(c *corev1.ConfigMap) []images.Problem { return images.Invalid(c) }

// CheckStaticPods returns what cannot be read in a folder of static pods.
func CheckStaticPods(c *corev1.ConfigMap) []string {
	if _, err := staticpods.Parse(c); err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}

// The names of the parts that read kwok's usages and play its Stages.
const (
	UsageReader = kwokwatch.Name
	StageRunner = stagerunner.Name
)

// UsageOptions configures the part that reads usages and Metrics, StageOptions the part that plays Stages.
type (
	UsageOptions = kwokwatch.Options
	StageOptions = stagerunner.Options
)

// NewUsageReader returns the function that reads usages and Metrics for kubelets until its context ends.
// seed determines the random numbers of expressions.
func NewUsageReader(config *rest.Config, opts UsageOptions, kubelets *Kubelets, seed uint64) (run func(context.Context) error, err error) {
	reader, err := kwokwatch.NewReader(config, opts, kubelets, seed)
	if err != nil {
		return nil, err
	}
	return reader.Run, nil
}

// GatewayRunner is the name of the part that serves Gateways.
const GatewayRunner = gatewayrunner.Name

// GatewayOptions configures it. Client, Name, Informers and SetGateways are set by NewGatewayRunner.
type GatewayOptions = gatewayrunner.Options

// NewGatewayRunner returns the function that serves Gateways with the kubelets' routers until its context ends.
func NewGatewayRunner(opts GatewayOptions, kubelets *Kubelets) (run func(context.Context) error, err error) {
	opts.Informers, opts.SetGateways = kubelets.informers, kubelets.fabric.SetGateways
	runner, err := gatewayrunner.New(opts)
	if err != nil {
		return nil, err
	}
	return runner.Run, nil
}

// NewStageRunner returns the function that plays Stages until its context ends.
func NewStageRunner(opts StageOptions) (run func(context.Context) error, err error) {
	runner, err := stagerunner.New(opts)
	if err != nil {
		return nil, err
	}
	return runner.Run, nil
}
