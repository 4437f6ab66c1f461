package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// The reasons of the filters, as kube-scheduler words them.
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

// rejection says why a pod cannot be on a node; nil: it can.
type rejection struct {
	reasons []string
	// final is set when deleting pods from the node would not help.
	final bool
	// rule is set when what pods elsewhere do may help.
	rule bool
}

// rejections are the fixed ones, shared by all decisions and never changed.
type rejections struct {
	unschedulable, nodeName, taint, affinity, notNamed, ports, tooManyPods *rejection
	spread, spreadLabel, affinityRules, antiAffinity, avoided              *rejection
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
		avoided:       &rejection{reasons: []string{reasonAvoided}, rule: true},
	}
}

// fixed is read only.
var fixed = newRejections()

// filter runs those of kube-scheduler's default filters that look at one node and
// its pods, in their order, and returns what the first one says that rejects the
// pod. Volumes and devices are not looked at.
func filter(p *PodInfo, n *NodeInfo) *rejection {
	if r := filterNode(p, n); r != nil {
		return r
	}
	if len(p.ports) > 0 && anyConflict(p.ports, n.ports) {
		return fixed.ports
	}
	return filterFit(p, n)
}

// filterNode has the filters that look at the node only, not at what is on it.
func filterNode(p *PodInfo, n *NodeInfo) *rejection {
	switch {
	case n.Node.Spec.Unschedulable && !toleratesUnschedulable(p):
		return fixed.unschedulable
	case p.Pod.Spec.NodeName != "" && p.Pod.Spec.NodeName != n.Node.Name:
		return fixed.nodeName
	case len(n.hard) > 0 && !toleratesAll(p.Pod.Spec.Tolerations, n.hard):
		return fixed.taint
	}
	if match, _ := p.required.Match(n.Node); !match {
		return fixed.affinity
	}
	return nil
}

func toleratesUnschedulable(p *PodInfo) bool {
	return tolerates(p.Pod.Spec.Tolerations, &corev1.Taint{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule,
	})
}

func toleratesAll(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for i := range taints {
		if !tolerates(tolerations, &taints[i]) {
			return false
		}
	}
	return true
}

// tolerates compares numerically too where a toleration asks for it: the API
// lets such tolerations in only when the feature is on.
func tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(klog.Logger{}, tolerations, taint, true)
}
