package plugins

import "minikcm.dev/minikcm/controllers/internal/scheduler/framework"

// NodeMayHelp reports whether the node, which has changed, may fit a pod that was rejected: the pod
// fits there now, or would if pods of lower priority were deleted. A pod that is nominated already
// waits for its victims to end, and needs no further ones. A nil node lets nothing in. backed are
// the pod's resources that may be devices.
func (profile *Profile) NodeMayHelp(p *framework.PodInfo, backed Backed, n *framework.NodeInfo, nominated bool) bool {
	if n == nil {
		return false
	}
	in := Input{Pod: p, Profile: profile, backed: backed}
	in.prepare()
	r := in.filterNode(n)
	if r == nil {
		r = in.filterFeatures(n)
	}
	if r == nil {
		return true
	}
	return !r.final && !nominated && in.profile.preempts && p.MayPreempt() && n.HasLowerPriority(p)
}
