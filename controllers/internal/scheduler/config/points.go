package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// The extension points.
const (
	preEnqueue = "preEnqueue"
	queueSort  = "queueSort"
	preFilter  = "preFilter"
	filter     = "filter"
	postFilter = "postFilter"
	preScore   = "preScore"
	score      = "score"
	reserve    = "reserve"
	permit     = "permit"
	preBind    = "preBind"
	bind       = "bind"
	postBind   = "postBind"
	multiPoint = "multiPoint"
)

// plugin is a plugin of kube-scheduler's default profile.
type plugin struct {
	name   string
	weight int32 // 0: it does not score
	// points are the extension points that it implements.
	points []string
}

const (
	schedulingGates = "SchedulingGates"
	prioritySort    = "PrioritySort"
	defaultBinder   = "DefaultBinder"
)

// known are in the order of kube-scheduler's default profile.
var known = []plugin{
	{schedulingGates, 0, []string{preEnqueue}},
	{prioritySort, 0, []string{queueSort}},
	{plugins.NodeName, 0, []string{filter}},
	{plugins.NodeUnschedulable, 0, []string{filter}},
	{plugins.TaintToleration, 3, []string{filter, preScore, score}},
	{plugins.NodeAffinity, 2, []string{preFilter, filter, preScore, score}},
	{plugins.NodePorts, 0, []string{preFilter, filter}},
	{plugins.NodeResourcesFit, 1, []string{preFilter, filter, preScore, score}},
	{plugins.VolumeRestrictions, 0, []string{preFilter, filter}},
	{plugins.NodeVolumeLimits, 0, []string{preFilter, filter}},
	{plugins.VolumeBinding, 0, []string{preFilter, filter, reserve, preBind, preScore, score}},
	{plugins.VolumeZone, 0, []string{preFilter, filter}},
	{plugins.PodTopologySpread, 2, []string{preFilter, filter, preScore, score}},
	{plugins.InterPodAffinity, 2, []string{preFilter, filter, preScore, score}},
	{plugins.DynamicResources, 2, []string{preEnqueue, preFilter, filter, postFilter, reserve, preBind, score}},
	{plugins.DefaultPreemption, 0, []string{preEnqueue, postFilter}},
	{plugins.BalancedAllocation, 1, []string{preScore, score}},
	{plugins.ImageLocality, 1, []string{score}},
	{defaultBinder, 0, []string{bind}},
	{plugins.NodeDeclaredFeatures, 0, []string{preFilter, filter}},
}

func knownNames() []string {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	return names
}

func (p *plugin) implements(point string) bool { return slices.Contains(p.points, point) }

func find(name string) *plugin {
	if i := slices.IndexFunc(known, func(p plugin) bool { return p.name == name }); i >= 0 {
		return &known[i]
	}
	return nil
}

// pointSet is an extension point of a configuration.
type pointSet struct {
	point string
	set   configv1.PluginSet
}

// points returns the extension points of a configuration.
func points(p *configv1.Plugins) []pointSet {
	return []pointSet{
		{multiPoint, p.MultiPoint},
		{preEnqueue, p.PreEnqueue},
		{queueSort, p.QueueSort},
		{preFilter, p.PreFilter},
		{filter, p.Filter},
		{postFilter, p.PostFilter},
		{preScore, p.PreScore},
		{score, p.Score},
		{reserve, p.Reserve},
		{permit, p.Permit},
		{preBind, p.PreBind},
		{bind, p.Bind},
		{postBind, p.PostBind},
	}
}

// enabled are the plugins of a profile, by extension point, in their order.
type enabled map[string][]configv1.Plugin

// has reports whether a plugin is enabled at a point.
func (e enabled) has(point, name string) bool {
	return slices.ContainsFunc(e[point], func(p configv1.Plugin) bool { return p.Name == name })
}

// expand returns the plugins of each extension point, as kube-scheduler merges them: the plugins
// that a point enables explicitly, and the plugins that multiPoint enables and the point does not
// disable. The plugins of multiPoint are the default ones that it does not disable, with the weights
// that it gives them, and then its own.
func expand(p *configv1.Plugins) enabled {
	var everywhere []configv1.Plugin
	for _, k := range known {
		if !disables(p.MultiPoint, k.name) {
			everywhere = append(everywhere, configv1.Plugin{Name: k.name, Weight: ptr.To(k.weight)})
		}
	}
	for _, custom := range p.MultiPoint.Enabled {
		if i := slices.IndexFunc(everywhere, func(d configv1.Plugin) bool { return d.Name == custom.Name }); i >= 0 {
			everywhere[i] = custom
		} else {
			everywhere = append(everywhere, custom)
		}
	}
	all := enabled{}
	for _, at := range points(p) {
		if at.point == multiPoint {
			continue
		}
		var overriding, rest, explicit []configv1.Plugin
		for _, custom := range at.set.Enabled {
			if slices.ContainsFunc(everywhere, func(m configv1.Plugin) bool { return m.Name == custom.Name }) {
				overriding = append(overriding, custom)
			} else {
				explicit = append(explicit, custom)
			}
		}
		for _, m := range everywhere {
			of := find(m.Name)
			named := slices.ContainsFunc(overriding, func(o configv1.Plugin) bool { return o.Name == m.Name })
			if of != nil && of.implements(at.point) && !named && !disables(at.set, m.Name) {
				rest = append(rest, m)
			}
		}
		all[at.point] = slices.Concat(overriding, rest, explicit)
	}
	// A point may name a plugin without its weight, which is then 1, as upstream.
	return all
}

func disables(set configv1.PluginSet, name string) bool {
	return slices.ContainsFunc(set.Disabled, func(d configv1.Plugin) bool { return d.Name == "*" || d.Name == name })
}

// checkPlugins checks the names and weights of a configuration.
func checkPlugins(path *field.Path, p *configv1.Plugins) (errs field.ErrorList) {
	for _, at := range points(p) {
		set := path.Child(at.point)
		seen := map[string]bool{}
		for i, e := range at.set.Enabled {
			here := set.Child("enabled").Index(i)
			of := find(e.Name)
			switch {
			case of == nil:
				errs = append(errs, field.NotSupported(here.Child("name"), e.Name, knownNames()))
			case at.point != multiPoint && !of.implements(at.point):
				errs = append(errs, field.Invalid(here.Child("name"), e.Name, "plugin does not extend "+at.point+" plugin"))
			case seen[e.Name]:
				errs = append(errs, field.Duplicate(here.Child("name"), e.Name))
			}
			seen[e.Name] = true
			if w := ptr.Deref(e.Weight, 0); w < 0 {
				errs = append(errs, field.Invalid(here.Child("weight"), w, "must be positive; 0 means 1"))
			}
		}
		for i, d := range at.set.Disabled {
			if d.Name != "*" && find(d.Name) == nil {
				errs = append(errs, field.NotSupported(set.Child("disabled").Index(i).Child("name"), d.Name, append([]string{"*"}, knownNames()...)))
			}
		}
	}
	for name, set := range map[string]configv1.PluginSet{
		"placementGenerate": p.PlacementGenerate, "placementScore": p.PlacementScore, "podGroupPostFilter": p.PodGroupPostFilter,
	} {
		if len(set.Enabled)+len(set.Disabled) > 0 {
			errs = append(errs, field.Forbidden(path.Child(name), "pod groups are not scheduled together: remove it"))
		}
	}
	return errs
}
