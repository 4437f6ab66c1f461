package plugins

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// The names of kube-scheduler's plugins that filter or score nodes, or act if no node is feasible.
const (
	NodeUnschedulable  = "NodeUnschedulable"
	NodeName           = "NodeName"
	TaintToleration    = "TaintToleration"
	NodeAffinity       = "NodeAffinity"
	NodePorts          = "NodePorts"
	NodeResourcesFit   = "NodeResourcesFit"
	VolumeRestrictions = "VolumeRestrictions"
	NodeVolumeLimits   = "NodeVolumeLimits"
	VolumeBinding      = "VolumeBinding"
	VolumeZone         = "VolumeZone"
	PodTopologySpread  = "PodTopologySpread"
	InterPodAffinity   = "InterPodAffinity"
	DynamicResources   = "DynamicResources"
	DefaultPreemption  = "DefaultPreemption"
	BalancedAllocation = "NodeResourcesBalancedAllocation"
	ImageLocality      = "ImageLocality"

	NodeDeclaredFeatures = "NodeDeclaredFeatures"
)

// ProfileSpec describes a profile: which plugins decide, and how.
type ProfileSpec struct {
	// Percentage is the share of the nodes, in percent, that ends the search when it is feasible;
	// 0: kube-scheduler's default, which depends on the number of nodes.
	Percentage int
	// Filters are the plugins that filter nodes. They run in the order of the default profile.
	Filters []string
	// Scores are the plugins that score nodes.
	Scores []WeightedPlugin
	// Preempts is set if pods of lower priority are deleted for one that fits on no node, and
	// Deallocates if idle resource claims are freed for it.
	Preempts, Deallocates bool

	// IgnoredResources are not compared by NodeResourcesFit, nor are resources of IgnoredGroups.
	IgnoredResources, IgnoredGroups []string
	// Fit is how NodeResourcesFit scores.
	Fit ResourceStrategy
	// VolumeShape is the score of VolumeBinding by the share of the capacity, in percent, that the
	// pod's claims request: points as in Fit.
	VolumeShape []ShapePoint
	// Balanced are the resources of NodeResourcesBalancedAllocation.
	Balanced []corev1.ResourceName
	// DefaultSpread are the constraints of pods without any; nil: kube-scheduler's default ones.
	DefaultSpread []corev1.TopologySpreadConstraint
	// HardAffinityWeight is the weight of a required affinity term of a pod on a node in the scores
	// of pods that match the term.
	HardAffinityWeight int64
	// IgnorePreferred leaves pods without preferred terms out of InterPodAffinity's scores.
	IgnorePreferred bool
	// AddedAffinity restricts and scores the nodes of all pods; nil: it does not.
	AddedAffinity *corev1.NodeAffinity
	// MinCandidates and MinCandidatesPercentage are how many of the nodes that could be freed are
	// tried.
	MinCandidates, MinCandidatesPercentage int
}

// WeightedPlugin is a plugin that scores nodes.
type WeightedPlugin struct {
	Name   string
	Weight int64
}

// DefaultSpec returns kube-scheduler's default profile.
func DefaultSpec() ProfileSpec {
	return ProfileSpec{
		Filters: FilterNames(),
		Scores: []WeightedPlugin{
			{TaintToleration, weightTaints},
			{NodeAffinity, weightNodeAffinity},
			{NodeResourcesFit, weightLeastAllocated},
			{VolumeBinding, weightVolumes},
			{PodTopologySpread, weightSpread},
			{InterPodAffinity, weightAffinity},
			{DynamicResources, weightDevices},
			{BalancedAllocation, weightBalanced},
			{ImageLocality, weightImages},
		},
		Preempts: true, Deallocates: true,
		Fit:                ResourceStrategy{Resources: defaultResources()},
		VolumeShape:        []ShapePoint{{0, maxScore}, {100, 0}},
		Balanced:           []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory},
		HardAffinityWeight: 1,
		MinCandidates:      minCandidates, MinCandidatesPercentage: minCandidatesPercentage,
	}
}

// Profile is a compiled profile: lists of functions. It is immutable.
type Profile struct {
	percentage int
	// filters are the filters that depend on one node and its pods. The others depend on more.
	filters                                  []nodeFilter
	binding, zone, spread, affinity, devices bool
	features, restrictions, nodeAffinity     bool
	scorers                                  []scorer
	// The weights of the plugins that addResources scores; 0: it does not.
	weightFit, weightBalanced              int64
	preempts, deallocates                  bool
	defaultSpread                          []corev1.TopologySpreadConstraint
	hardDefaults                           bool
	ignoredResources, ignoredGroups        []string
	hardAffinityWeight                     int64
	ignorePreferred                        bool
	addedRequired                          *nodeaffinity.NodeSelector
	addedPreferred                         *nodeaffinity.PreferredSchedulingTerms
	minCandidates, minCandidatesPercentage int
}

// NewProfile compiles a profile. It ignores the names of plugins that it does not know. An error
// is one of the added affinity.
func NewProfile(spec ProfileSpec) (*Profile, error) {
	has := func(name string) bool { return slices.Contains(spec.Filters, name) }
	p := &Profile{
		percentage: spec.Percentage,
		binding:    has(VolumeBinding), zone: has(VolumeZone), spread: has(PodTopologySpread), affinity: has(InterPodAffinity), devices: has(DynamicResources),
		features: has(NodeDeclaredFeatures), restrictions: has(VolumeRestrictions), nodeAffinity: has(NodeAffinity),
		preempts: spec.Preempts, deallocates: spec.Deallocates, defaultSpread: spec.DefaultSpread,
		ignoredResources: spec.IgnoredResources, ignoredGroups: spec.IgnoredGroups,
		hardAffinityWeight: spec.HardAffinityWeight, ignorePreferred: spec.IgnorePreferred,
		minCandidates: spec.MinCandidates, minCandidatesPercentage: spec.MinCandidatesPercentage,
	}
	for _, f := range nodeFilters {
		if has(f.name) {
			p.filters = append(p.filters, f)
		}
	}
	p.hardDefaults = p.spread && slices.ContainsFunc(spec.DefaultSpread, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
	for _, plugin := range spec.Scores {
		if score := spec.scorer(plugin.Name); score != nil {
			p.scorers = append(p.scorers, scorer{plugin.Name, plugin.Weight, score, p.merge(&spec, plugin)})
		}
	}
	added := spec.AddedAffinity
	if added == nil {
		return p, nil
	}
	var err error
	if required := added.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		if p.addedRequired, err = nodeaffinity.NewNodeSelector(required); err != nil {
			return nil, err
		}
	}
	if preferred := added.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
		if p.addedPreferred, err = nodeaffinity.NewPreferredSchedulingTerms(preferred); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// merge leaves a plugin's scores to addResources, if that has them.
func (p *Profile) merge(spec *ProfileSpec, plugin WeightedPlugin) bool {
	switch {
	case plugin.Name == NodeResourcesFit && spec.Fit.isDefault():
		p.weightFit += plugin.Weight
	case plugin.Name == BalancedAllocation && isDefaultBalance(spec.Balanced):
		p.weightBalanced += plugin.Weight
	default:
		return false
	}
	return true
}

// defaultProfile is the profile of decisions that name none.
var defaultProfile = newDefaultProfile()

func newDefaultProfile() *Profile {
	p, err := NewProfile(DefaultSpec())
	if err != nil {
		panic(err) // the default profile adds no affinity
	}
	return p
}

// BindsVolumes reports whether the profile binds the claims of pods.
func (p *Profile) BindsVolumes() bool { return p.orDefault().binding }

// Preempts reports whether the profile deletes pods for one that fits on no node.
func (p *Profile) Preempts() bool { return p.orDefault().preempts }

// Deallocates reports whether the profile frees idle resource claims for a pod that fits on no
// node.
func (p *Profile) Deallocates() bool { return p.orDefault().deallocates }

// SpreadsByDefault reports whether the profile's default constraints exclude nodes.
func (p *Profile) SpreadsByDefault() bool { return p.orDefault().hardDefaults }

func (p *Profile) orDefault() *Profile {
	if p == nil {
		return defaultProfile
	}
	return p
}

// ignores reports whether NodeResourcesFit leaves out an extended resource.
func (p *Profile) ignores(name corev1.ResourceName) bool {
	group, _, _ := strings.Cut(string(name), "/")
	return slices.Contains(p.ignoredResources, string(name)) || slices.Contains(p.ignoredGroups, group)
}
