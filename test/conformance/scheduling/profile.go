package scheduling

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// object is one of a configuration file.
type object = map[string]any

// configuration returns a KubeSchedulerConfiguration with one profile, in JSON.
func (g *generator) configuration() (json.RawMessage, error) {
	profile := object{"schedulerName": corev1.DefaultSchedulerName, "pluginConfig": g.pluginConfig()}
	if g.chance(60) {
		profile["plugins"] = g.plugins()
	}
	return json.Marshal(object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []object{profile}})
}

// plugins disables some plugins, or changes their weights.
func (g *generator) plugins() object {
	all := object{}
	scoring := []string{"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality"}
	switch g.IntN(3) {
	case 0:
		all["score"] = object{"disabled": []object{{"name": pick(g, scoring...)}}}
	case 1:
		all["score"] = object{"enabled": []object{{"name": pick(g, scoring...), "weight": 1 + g.IntN(9)}}}
	default:
		all["multiPoint"] = object{"enabled": []object{{"name": pick(g, scoring...), "weight": 1 + g.IntN(9)}}}
	}
	if g.chance(40) {
		all["filter"] = object{"disabled": []object{{"name": pick(g, "TaintToleration", "NodeUnschedulable", "NodeName")}}}
	}
	if g.chance(20) {
		all["postFilter"] = object{"disabled": []object{{"name": pick(g, "DefaultPreemption", "DynamicResources")}}}
	}
	return all
}

// pluginConfig has arguments of some plugins.
func (g *generator) pluginConfig() []object {
	all := []object{}
	add := func(name string, args object) {
		if g.chance(40) {
			all = append(all, object{"name": name, "args": args})
		}
	}
	add("NodeResourcesFit", g.fit())
	balanced := []object{{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}}
	for _, name := range []string{gpu, "ephemeral-storage"} {
		if g.chance(60) && (name != gpu || !g.backed) { // upstream's plugin panics if a class with selectors backs the resource
			balanced = append(balanced, object{"name": name, "weight": 1})
		}
	}
	add("NodeResourcesBalancedAllocation", object{"resources": balanced})
	constraints := []object{}
	for _, key := range []string{corev1.LabelTopologyZone, "rack"} {
		if g.chance(70) {
			constraints = append(constraints, object{"maxSkew": 1 + g.IntN(2), "topologyKey": key, "whenUnsatisfiable": pick(g, corev1.DoNotSchedule, corev1.ScheduleAnyway)})
		}
	}
	add("PodTopologySpread", object{"defaultingType": "List", "defaultConstraints": constraints})
	add("InterPodAffinity", object{"hardPodAffinityWeight": g.IntN(101), "ignorePreferredTermsOfExistingPods": g.chance(50)})
	added := object{}
	if g.chance(60) {
		added["requiredDuringSchedulingIgnoredDuringExecution"] = corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{g.nodeTerm()}}
	}
	if g.chance(60) {
		added["preferredDuringSchedulingIgnoredDuringExecution"] = []corev1.PreferredSchedulingTerm{{Weight: int32(1 + g.IntN(100)), Preference: g.nodeTerm()}}
	}
	add("NodeAffinity", object{"addedAffinity": added})
	add("VolumeBinding", object{"shape": g.shape()})
	return all
}

// shape has points by ascending utilization.
func (g *generator) shape() []object {
	points := []object{{"utilization": 0, "score": g.IntN(11)}}
	if g.chance(50) {
		points = append(points, object{"utilization": 1 + g.IntN(98), "score": g.IntN(11)})
	}
	return append(points, object{"utilization": 100, "score": g.IntN(11)})
}

func (g *generator) fit() object {
	kind := pick(g, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
	resources := []object{}
	for _, name := range []string{"cpu", "memory", "ephemeral-storage", gpu} {
		if g.chance(60) {
			resources = append(resources, object{"name": name, "weight": 1 + g.IntN(5)})
		}
	}
	strategy := object{"type": kind, "resources": resources}
	if kind == "RequestedToCapacityRatio" {
		strategy["requestedToCapacityRatio"] = object{"shape": g.shape()}
	}
	args := object{"scoringStrategy": strategy}
	if g.chance(30) {
		args["ignoredResources"] = []string{gpu}
	}
	return args
}
