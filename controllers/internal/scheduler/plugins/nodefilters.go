package plugins

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// nodeFilter is a filter that depends on one node and its pods.
type nodeFilter struct {
	name string
	// concerns reports whether the filter can reject a node for the pod of a decision; nil: always.
	// A filter that cannot is left out of the decision (kube-scheduler's Skip of PreFilter).
	concerns func(in *Input) bool
	rejects  func(in *Input, n *framework.NodeInfo) *rejection
}

// nodeFilters are in the order of kube-scheduler's default profile.
var nodeFilters = []nodeFilter{
	{NodeName, func(in *Input) bool { return in.Pod.Pod.Spec.NodeName != "" }, filterNodeName},
	{NodeUnschedulable, nil, filterUnschedulable},
	{TaintToleration, nil, filterTaints},
	{NodeAffinity, func(in *Input) bool { return in.Pod.HasNodeAffinity || in.profile.addedRequired != nil }, filterAffinity},
	{NodePorts, func(in *Input) bool { return len(in.Pod.Ports) > 0 }, filterPorts},
	{NodeResourcesFit, nil, filterFit},
	{VolumeRestrictions, func(in *Input) bool { return in.exclusiveUsers > 0 }, filterRestrictions},
	{NodeVolumeLimits, func(in *Input) bool { return in.Volumes != nil && in.Volumes.Limits != nil }, filterLimits},
}

// FilterNames returns the names of all filters, in the order in which they run.
func FilterNames() []string {
	names := make([]string, 0, len(nodeFilters)+6)
	for _, f := range nodeFilters {
		names = append(names, f.name)
	}
	return append(names, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, NodeDeclaredFeatures)
}

// prepare selects the filters of the profile that concern the pod.
func (in *Input) prepare() {
	in.profile = in.Profile.orDefault()
	if in.Volumes != nil {
		in.useVolumes()
	}
	in.filters = in.filtersOf[:0]
	for i := range in.profile.filters {
		if f := &in.profile.filters[i]; f.concerns == nil || f.concerns(in) {
			in.filters = append(in.filters, f)
		}
	}
	in.fit = in.Pod.Requests
	if len(in.fit.Scalar) > 0 && len(in.profile.ignoredResources)+len(in.profile.ignoredGroups) > 0 {
		in.fit = in.fit.Without(in.profile.ignores)
	}
	if in.Devices != nil && in.Devices.Extended != nil {
		in.backed, in.countDevices = in.Devices.Extended.Classes, in.Devices.Extended.Count // also without DynamicResources
	}
	if !in.profile.devices {
		in.Devices = nil
	}
}

// filterNode runs the filters of the profile that depend only on one node and its pods, in their
// order, and returns the first rejection.
func (in *Input) filterNode(n *framework.NodeInfo) *rejection {
	for _, f := range in.filters {
		if r := f.rejects(in, n); r != nil {
			return r
		}
	}
	return nil
}

func filterUnschedulable(in *Input, n *framework.NodeInfo) *rejection {
	if n.Unschedulable && !framework.Tolerates(in.Pod.Pod.Spec.Tolerations, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return fixed.unschedulable
	}
	return nil
}

func filterNodeName(in *Input, n *framework.NodeInfo) *rejection {
	if in.Pod.Pod.Spec.NodeName != n.Node.Name {
		return fixed.nodeName
	}
	return nil
}

func filterTaints(in *Input, n *framework.NodeInfo) *rejection {
	if len(n.HardTaints) > 0 && !framework.ToleratesAll(in.Pod.Pod.Spec.Tolerations, n.HardTaints) {
		return fixed.taint
	}
	return nil
}

func filterAffinity(in *Input, n *framework.NodeInfo) *rejection {
	if added := in.profile.addedRequired; added != nil && !added.Match(n.Node) {
		return fixed.enforced
	}
	if match, _ := in.Pod.RequiredNodeAffinity.Match(n.Node); !match {
		return fixed.affinity
	}
	return nil
}

func filterPorts(in *Input, n *framework.NodeInfo) *rejection {
	if framework.AnyConflict(in.Pod.Ports, n.UsedPorts) {
		return fixed.ports
	}
	return nil
}

// filterFeatures is NodeDeclaredFeatures (KEP-5328).
func (in *Input) filterFeatures(n *framework.NodeInfo) *rejection {
	if in.profile.features && !n.Declares(in.Pod.Features) {
		return fixed.features
	}
	return nil
}
