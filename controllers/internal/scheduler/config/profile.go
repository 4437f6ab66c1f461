package config

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// profileParser compiles one profile, and collects its errors.
type profileParser struct {
	path   *field.Path
	global *configv1.KubeSchedulerConfiguration
	in     *configv1.KubeSchedulerProfile
	// ignored are the resources that NodeResourcesFit leaves to extenders.
	ignored []string
	spec    plugins.ProfileSpec
	out     Profile
	errs    field.ErrorList
}

func (p *profileParser) parse() *Profile {
	p.spec = plugins.DefaultSpec()
	p.out = Profile{BindTimeout: defaultBindTimeout, FilterTimeout: defaultFilterTimeout, DeviceTimeout: defaultDeviceTimeout}
	p.errs = append(p.errs, checkPercentage(p.path.Child("percentageOfNodesToScore"), p.in.PercentageOfNodesToScore)...)
	percentage := p.in.PercentageOfNodesToScore
	if percentage == nil {
		percentage = p.global.PercentageOfNodesToScore
	}
	p.spec.Percentage = int(ptr.Deref(percentage, 0))
	p.plugins()
	p.args()
	p.spec.IgnoredResources = slices.Concat(p.spec.IgnoredResources, p.ignored)
	if len(p.errs) > 0 {
		return nil
	}
	var err error
	if p.out.Profile, err = plugins.NewProfile(p.spec); err != nil {
		p.errs = append(p.errs, field.Invalid(p.path.Child("pluginConfig"), "", err.Error()))
	}
	return &p.out
}

// plugins selects the plugins of the profile.
func (p *profileParser) plugins() {
	if p.in.Plugins == nil {
		return
	}
	path := p.path.Child("plugins")
	if errs := checkPlugins(path, p.in.Plugins); len(errs) > 0 {
		p.errs = append(p.errs, errs...)
		return
	}
	all := expand(p.in.Plugins)
	p.required(path, all)
	p.spec.Filters, p.spec.Scores = nil, nil
	for _, f := range all[filter] {
		p.spec.Filters = append(p.spec.Filters, f.Name)
		p.together(path, all, filter, f.Name, preFilter, reserve, preBind)
	}
	for _, s := range all[score] {
		weight := int64(ptr.Deref(s.Weight, 0))
		p.spec.Scores = append(p.spec.Scores, plugins.WeightedPlugin{Name: s.Name, Weight: max(weight, 1)})
		p.together(path, all, score, s.Name, preScore)
	}
	p.spec.Preempts = all.has(postFilter, plugins.DefaultPreemption)
	p.spec.Deallocates = all.has(postFilter, plugins.DynamicResources)
}

// required checks that the plugins are there without which no pod is scheduled.
func (p *profileParser) required(path *field.Path, all enabled) {
	if !all.has(queueSort, prioritySort) {
		p.errs = append(p.errs, field.Required(path.Child(queueSort), "no queue sort plugin is enabled: enable PrioritySort"))
	}
	if !all.has(preEnqueue, schedulingGates) {
		p.errs = append(p.errs, field.Required(path.Child(preEnqueue), "scheduling gates are always honoured: enable SchedulingGates"))
	}
	if !all.has(bind, defaultBinder) {
		p.errs = append(p.errs, field.Required(path.Child(bind), "at least one bind plugin is needed: enable DefaultBinder"))
	}
}

// together checks that a plugin is also enabled at the other points that its work at one needs.
func (p *profileParser) together(path *field.Path, all enabled, point, name string, needed ...string) {
	for _, n := range needed {
		if of := find(name); of.implements(n) && !all.has(n, name) {
			p.errs = append(p.errs, field.Invalid(path.Child(n), name, "cannot be disabled here while it is enabled at "+point+": disable it there, or at multiPoint"))
		}
	}
}

// args reads the arguments of the plugins.
func (p *profileParser) args() {
	seen := map[string]bool{}
	for i := range p.in.PluginConfig {
		c := &p.in.PluginConfig[i]
		path := p.path.Child("pluginConfig").Index(i)
		switch {
		case find(c.Name) == nil:
			p.errs = append(p.errs, field.NotSupported(path.Child("name"), c.Name, knownNames()))
			continue
		case seen[c.Name]:
			p.errs = append(p.errs, field.Duplicate(path.Child("name"), c.Name))
			continue
		}
		seen[c.Name] = true
		path = path.Child("args")
		switch args := c.Args.Object.(type) {
		case *configv1.NodeResourcesFitArgs:
			p.fit(path, args)
		case *configv1.NodeResourcesBalancedAllocationArgs:
			p.balanced(path, args)
		case *configv1.PodTopologySpreadArgs:
			p.spread(path, args)
		case *configv1.InterPodAffinityArgs:
			weight := ptr.Deref(args.HardPodAffinityWeight, 1)
			if weight < 0 || weight > 100 {
				p.invalid(path.Child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")
			}
			p.spec.HardAffinityWeight, p.spec.IgnorePreferred = int64(weight), args.IgnorePreferredTermsOfExistingPods
		case *configv1.NodeAffinityArgs:
			p.affinity(path, args)
		case *configv1.DefaultPreemptionArgs:
			p.preemption(path, args)
		case *configv1.VolumeBindingArgs:
			p.binding(path, args)
		case *configv1.DynamicResourcesArgs:
			p.devices(path, args)
		default:
			p.invalid(path, c.Name, "the plugin has no arguments: remove them")
		}
	}
}

func (p *profileParser) invalid(path *field.Path, value any, why string) {
	p.errs = append(p.errs, field.Invalid(path, value, why))
}

func (p *profileParser) binding(path *field.Path, args *configv1.VolumeBindingArgs) {
	const longest = int64(1<<63-1) / int64(time.Second)
	if seconds := ptr.Deref(args.BindTimeoutSeconds, int64(defaultBindTimeout/time.Second)); seconds < 0 || seconds > longest {
		p.invalid(path.Child("bindTimeoutSeconds"), seconds, "invalid BindTimeoutSeconds, should not be a negative value")
	} else {
		p.out.BindTimeout = time.Duration(seconds) * time.Second
	}
	if len(args.Shape) > 0 {
		p.spec.VolumeShape = p.shape(path.Child("shape"), args.Shape)
	}
}

func (p *profileParser) devices(path *field.Path, args *configv1.DynamicResourcesArgs) {
	if args.FilterTimeout != nil {
		if p.out.FilterTimeout = args.FilterTimeout.Duration; p.out.FilterTimeout < 0 {
			p.invalid(path.Child("filterTimeout"), args.FilterTimeout.Duration.String(), "must be zero or positive")
		}
	}
	if args.BindingTimeout != nil {
		if p.out.DeviceTimeout = args.BindingTimeout.Duration; p.out.DeviceTimeout < time.Second {
			p.invalid(path.Child("bindingTimeout"), args.BindingTimeout.Duration.String(), "must be at least 1 second")
		}
	}
}

func (p *profileParser) preemption(path *field.Path, args *configv1.DefaultPreemptionArgs) {
	percentage, absolute := ptr.Deref(args.MinCandidateNodesPercentage, 10), ptr.Deref(args.MinCandidateNodesAbsolute, 100)
	if percentage < 0 || percentage > 100 {
		p.invalid(path.Child("minCandidateNodesPercentage"), percentage, "not in valid range [0, 100]")
	}
	if absolute < 0 {
		p.invalid(path.Child("minCandidateNodesAbsolute"), absolute, "not in valid range [0, inf)")
	}
	if percentage == 0 && absolute == 0 {
		p.invalid(path.Child("minCandidateNodesPercentage"), percentage, "cannot be zero at the same time as minCandidateNodesAbsolute")
	}
	p.spec.MinCandidatesPercentage, p.spec.MinCandidates = int(percentage), int(absolute)
}

func resourceNames(resources []configv1.ResourceSpec) []corev1.ResourceName {
	names := make([]corev1.ResourceName, len(resources))
	for i := range resources {
		names[i] = corev1.ResourceName(resources[i].Name)
	}
	return names
}
