package plugins

import "minikcm.dev/minikcm/controllers/scheduler/framework"

// NodeMayHelp reports whether the node, which has changed, may let in a pod that was
// rejected: the pod fits there now, or would if pods of lower priority were deleted. A pod
// that is nominated already waits for its victims to end, and needs no further ones. A nil
// node lets nothing in.
func NodeMayHelp(p *framework.PodInfo, n *framework.NodeInfo, nominated bool) bool {
	if n == nil {
		return false
	}
	r := filter(p, n)
	if r == nil {
		return true
	}
	return !r.final && !nominated && p.MayPreempt() && n.HasLowerPriority(p)
}
