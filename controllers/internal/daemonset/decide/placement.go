package decide

import (
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// comparisonOperators enables tolerations that compare numbers (KEP-5471), as in the
// scheduler.
const comparisonOperators = true

// placement decides which nodes should have a pod: the nodes that the template's node name,
// selector and affinity allow and whose taints the pods tolerate. Whether there is room is
// left to the scheduler.
type placement struct {
	nodeName    string
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

func placementOf(d *appsv1.DaemonSet) placement {
	spec := &d.Spec.Template.Spec
	return placement{
		nodeName:    spec.NodeName,
		required:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: tolerations(spec),
	}
}

// on reports whether the node should have a pod, and whether an existing one may stay: a
// NoSchedule taint keeps new pods away without evicting those that run.
func (p *placement) on(node *corev1.Node) (run, stay bool) {
	if p.nodeName != "" && p.nodeName != node.Name {
		return false, false
	}
	if match, err := p.required.Match(node); err != nil || !match {
		return false, false
	}
	run, stay = true, true
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || schedulinghelper.TolerationsTolerateTaint(logr.Logger{}, p.tolerations, taint, comparisonOperators) {
			continue
		}
		run = false
		stay = stay && taint.Effect != corev1.TaintEffectNoExecute
	}
	return run, stay
}

// tolerations returns the template's tolerations and the tolerations that every daemon pod has:
// daemons run on nodes where other pods do not.
func tolerations(spec *corev1.PodSpec) []corev1.Toleration {
	added := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	if spec.HostNetwork {
		added = append(added, corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	}
	all := make([]corev1.Toleration, len(spec.Tolerations), len(spec.Tolerations)+len(added))
	copy(all, spec.Tolerations)
	for _, one := range added {
		one.Operator = corev1.TolerationOpExists
		all = with(all, one)
	}
	return all
}

// with replaces the toleration for the same taint, or appends one.
func with(all []corev1.Toleration, one corev1.Toleration) []corev1.Toleration {
	found := false
	for i := range all {
		if all[i].MatchToleration(&one) {
			all[i], found = one, true
		}
	}
	if !found {
		all = append(all, one)
	}
	return all
}

// Concerns reports whether the addition of a node, or its change from old, changes whether the
// DaemonSet should have a pod on it. For an added node, old is nil.
func Concerns(d *appsv1.DaemonSet, old, node *corev1.Node) bool {
	where := placementOf(d)
	run, stay := where.on(node)
	if old == nil {
		return run || stay
	}
	ran, stayed := where.on(old)
	return run != ran || stay != stayed
}
