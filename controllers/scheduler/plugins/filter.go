package plugins

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
)

// The reasons of the filters, in kube-scheduler's words.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonNodeName      = "node(s) didn't match the requested node name"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonNodeAffinity  = "node(s) didn't match Pod's node affinity/selector"
	reasonNotNamed      = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
	reasonNamesConflict = "pod affinity terms conflict"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports"
	reasonTooManyPods   = "Too many pods"
	reasonSpread        = "node(s) didn't match pod topology spread constraints"
	reasonSpreadLabel   = reasonSpread + " (missing required label)"
	reasonAffinityRules = "node(s) didn't match pod affinity rules"
	reasonAntiAffinity  = "node(s) didn't match pod anti-affinity rules"
	reasonAvoided       = "node(s) didn't satisfy existing pods anti-affinity rules"
)

// rejection is why a pod cannot be on a node.
type rejection struct {
	reasons []string
	// final is set if preemption on the node would not help.
	final bool
	// rule is set if a change of pods on other nodes may help.
	rule bool
	// devices is set if the pod's resource claims are the reason.
	devices bool
}

// rejections are the rejections without parameters. All decisions share them.
type rejections struct {
	unschedulable, nodeName, taint, affinity, notNamed, ports, tooManyPods *rejection
	spread, spreadLabel, affinityRules, antiAffinity, avoided, volumeZone  *rejection
	noDevices, claimElsewhere                                              *rejection
}

func newRejections() rejections {
	final := func(reason string) *rejection { return &rejection{reasons: []string{reason}, final: true} }
	return rejections{
		unschedulable: final(reasonUnschedulable),
		nodeName:      final(reasonNodeName),
		taint:         final(reasonTaint),
		affinity:      final(reasonNodeAffinity),
		notNamed:      final(reasonNotNamed),
		ports:         &rejection{reasons: []string{reasonPorts}},
		tooManyPods:   &rejection{reasons: []string{reasonTooManyPods}},
		spread:        &rejection{reasons: []string{reasonSpread}, rule: true},
		spreadLabel:   final(reasonSpreadLabel),
		affinityRules: &rejection{reasons: []string{reasonAffinityRules}, rule: true, final: true},
		antiAffinity:  &rejection{reasons: []string{reasonAntiAffinity}, rule: true},
		volumeZone:    final(reasonVolumeZone),
		avoided:       &rejection{reasons: []string{reasonAvoided}, rule: true},

		noDevices:      &rejection{reasons: []string{reasonNoDevices}, final: true, devices: true},
		claimElsewhere: &rejection{reasons: []string{reasonClaimElsewhere}, final: true, devices: true},
	}
}

// fixed is read-only.
var fixed = newRejections()

// filter runs kube-scheduler's default filters that depend only on one node and its pods, in
// their order, and returns the first rejection.
func filter(p *framework.PodInfo, n *framework.NodeInfo) *rejection {
	if r := filterNode(p, n); r != nil {
		return r
	}
	if len(p.Ports) > 0 && framework.AnyConflict(p.Ports, n.UsedPorts) {
		return fixed.ports
	}
	return filterFit(p, n)
}

// filterNode runs the filters that depend only on the node, not on its pods.
func filterNode(p *framework.PodInfo, n *framework.NodeInfo) *rejection {
	switch {
	case n.Node.Spec.Unschedulable && !toleratesUnschedulable(p):
		return fixed.unschedulable
	case p.Pod.Spec.NodeName != "" && p.Pod.Spec.NodeName != n.Node.Name:
		return fixed.nodeName
	case len(n.HardTaints) > 0 && !framework.ToleratesAll(p.Pod.Spec.Tolerations, n.HardTaints):
		return fixed.taint
	}
	if match, _ := p.RequiredNodeAffinity.Match(n.Node); !match {
		return fixed.affinity
	}
	return nil
}

func toleratesUnschedulable(p *framework.PodInfo) bool {
	return framework.Tolerates(p.Pod.Spec.Tolerations, &corev1.Taint{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule,
	})
}
