package config

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// scoreScale scales the scores of shapes, 0 to 10, to plugin scores, 0 to 100.
const scoreScale = 10

func (p *profileParser) fit(path *field.Path, args *configv1.NodeResourcesFitArgs) {
	for i, name := range args.IgnoredResources {
		p.errs = append(p.errs, metav1validation.ValidateLabelName(name, path.Child("ignoredResources").Index(i))...)
	}
	for i, group := range args.IgnoredResourceGroups {
		at := path.Child("ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			p.invalid(at, group, "resource group name can't contain '/'")
		}
		p.errs = append(p.errs, metav1validation.ValidateLabelName(group, at)...)
	}
	p.spec.IgnoredResources, p.spec.IgnoredGroups = args.IgnoredResources, args.IgnoredResourceGroups
	if args.ScoringStrategy != nil {
		p.strategy(path.Child("scoringStrategy"), args.ScoringStrategy)
	}
}

func (p *profileParser) strategy(path *field.Path, s *configv1.ScoringStrategy) {
	kinds := map[configv1.ScoringStrategyType]plugins.StrategyKind{
		configv1.LeastAllocated: plugins.LeastAllocated, configv1.MostAllocated: plugins.MostAllocated,
		configv1.RequestedToCapacityRatio: plugins.RequestedToCapacityRatio,
	}
	kind, ok := kinds[cmp.Or(s.Type, configv1.LeastAllocated)]
	if !ok {
		p.errs = append(p.errs, field.NotSupported(path.Child("type"), s.Type, []configv1.ScoringStrategyType{configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio}))
	}
	p.spec.Fit.Kind = kind
	if len(s.Resources) > 0 {
		p.spec.Fit.Resources = nil
	}
	for i, r := range s.Resources {
		weight := cmp.Or(r.Weight, 1)
		if weight < 0 || weight > 100 {
			p.invalid(path.Child("resources").Index(i).Child("weight"), r.Weight, fmt.Sprintf("resource weight of %v not in valid range (0, 100]", r.Name))
		}
		p.spec.Fit.Resources = append(p.spec.Fit.Resources, plugins.WeightedResource{Name: corev1.ResourceName(r.Name), Weight: weight})
	}
	ratio := path.Child("requestedToCapacityRatio")
	switch param := s.RequestedToCapacityRatio; {
	case kind == plugins.RequestedToCapacityRatio && param == nil:
		p.errs = append(p.errs, field.Required(ratio, "must be specified when type is RequestedToCapacityRatio"))
	case kind == plugins.RequestedToCapacityRatio:
		p.spec.Fit.Shape = p.shape(ratio.Child("shape"), param.Shape)
	case param != nil:
		p.errs = append(p.errs, field.Forbidden(ratio, "must be nil when type is not RequestedToCapacityRatio"))
	}
}

func (p *profileParser) shape(path *field.Path, shape []configv1.UtilizationShapePoint) (points []plugins.ShapePoint) {
	if len(shape) == 0 {
		p.errs = append(p.errs, field.Required(path, "at least one point must be specified"))
		return nil
	}
	for i, point := range shape {
		at := path.Index(i)
		if i > 0 && shape[i-1].Utilization >= point.Utilization {
			p.invalid(at.Child("utilization"), point.Utilization, "values must be sorted in increasing order")
		}
		if point.Utilization < 0 || point.Utilization > 100 {
			p.invalid(at.Child("utilization"), point.Utilization, "not in valid range [0, 100]")
		}
		if point.Score < 0 || point.Score > 10 {
			p.invalid(at.Child("score"), point.Score, "not in valid range [0, 10]")
		}
		points = append(points, plugins.ShapePoint{Utilization: int64(point.Utilization), Score: int64(point.Score) * scoreScale})
	}
	return points
}

func (p *profileParser) balanced(path *field.Path, args *configv1.NodeResourcesBalancedAllocationArgs) {
	seen := map[string]bool{}
	for i, r := range args.Resources {
		at := path.Child("resources").Index(i)
		if seen[r.Name] {
			p.errs = append(p.errs, field.Duplicate(at.Child("name"), r.Name))
		}
		seen[r.Name] = true
		if cmp.Or(r.Weight, 1) != 1 {
			p.invalid(at.Child("weight"), r.Weight, "must be 1")
		}
	}
	if len(args.Resources) > 0 {
		p.spec.Balanced = resourceNames(args.Resources)
	}
}

func (p *profileParser) spread(path *field.Path, args *configv1.PodTopologySpreadArgs) {
	at := path.Child("defaultingType")
	switch cmp.Or(args.DefaultingType, configv1.SystemDefaulting) {
	case configv1.ListDefaulting:
		p.spec.DefaultSpread = append([]corev1.TopologySpreadConstraint{}, args.DefaultConstraints...)
	case configv1.SystemDefaulting:
		if len(args.DefaultConstraints) > 0 {
			p.invalid(at, configv1.SystemDefaulting, "when .defaultConstraints are not empty: set it to List")
		}
	default:
		p.errs = append(p.errs, field.NotSupported(at, args.DefaultingType, []configv1.PodTopologySpreadConstraintsDefaulting{configv1.SystemDefaulting, configv1.ListDefaulting}))
	}
	type identity struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	seen := map[identity]bool{}
	for i, c := range args.DefaultConstraints {
		at := path.Child("defaultConstraints").Index(i)
		if c.MaxSkew <= 0 {
			p.invalid(at.Child("maxSkew"), c.MaxSkew, "not in valid range (0, inf)")
		}
		if c.TopologyKey == "" {
			p.errs = append(p.errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		} else {
			p.errs = append(p.errs, metav1validation.ValidateLabelName(c.TopologyKey, at.Child("topologyKey"))...)
		}
		switch c.WhenUnsatisfiable {
		case corev1.DoNotSchedule, corev1.ScheduleAnyway:
		case "":
			p.errs = append(p.errs, field.Required(at.Child("whenUnsatisfiable"), "can not be empty"))
		default:
			p.errs = append(p.errs, field.NotSupported(at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}))
		}
		if c.LabelSelector != nil {
			p.errs = append(p.errs, field.Forbidden(at.Child("labelSelector"), "constraint must not define a selector, as they deduced for each pod"))
		}
		id := identity{c.TopologyKey, c.WhenUnsatisfiable}
		if seen[id] {
			p.errs = append(p.errs, field.Duplicate(at, fmt.Sprintf("{%v, %v}", id.key, id.when)))
		}
		seen[id] = true
	}
}

func (p *profileParser) affinity(path *field.Path, args *configv1.NodeAffinityArgs) {
	p.spec.AddedAffinity = args.AddedAffinity
	if args.AddedAffinity == nil {
		return
	}
	at := path.Child("addedAffinity")
	check := func(err error) {
		if err != nil {
			p.invalid(at, "", err.Error())
		}
	}
	if required := args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		_, err := nodeaffinity.NewNodeSelector(required)
		check(err)
	}
	if preferred := args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
		_, err := nodeaffinity.NewPreferredSchedulingTerms(preferred)
		check(err)
	}
}
