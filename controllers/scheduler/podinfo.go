package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// PodInfo is a pod with what decisions need of it worked out once. It is
// immutable.
type PodInfo struct {
	Pod      *corev1.Pod
	Priority int32
	// Requests is what the pod takes of its node.
	Requests Resource
	// scoredCPU and scoredMemory are the requests that scores count with.
	scoredCPU, scoredMemory int64

	ports     []hostPort
	required  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms
	// tolerations are those that tolerate PreferNoSchedule taints.
	softTolerations []corev1.Toleration
	// names are the only nodes that the required affinity can match, by
	// metadata.name, sorted; nil: any.
	names []string
	// choosy is set if the pod has a node selector or required node affinity.
	choosy bool
	// spread and terms are its topology spread constraints and pod affinity terms.
	spread []spreadConstraint
	terms  []affinityTerm
}

// NewPodInfo works out what decisions need of the pod, which must not be changed
// any more.
func NewPodInfo(pod *corev1.Pod) *PodInfo {
	p := &PodInfo{
		Pod:      pod,
		Priority: schedulinghelper.PodPriority(pod),
		Requests: podRequests(pod),
		ports:    hostPorts(pod),
		required: nodeaffinity.GetRequiredNodeAffinity(pod),
		names:    affinityNames(pod),
		choosy:   len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil,
		spread:   newSpread(pod),
		terms:    newTerms(pod),
	}
	p.scoredCPU, p.scoredMemory = scoredRequests(pod)
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		// Terms that cannot be parsed do not pass the API's validation; of several,
		// those that can be still count.
		p.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range pod.Spec.Tolerations {
		if t.Effect == "" || t.Effect == corev1.TaintEffectPreferNoSchedule {
			p.softTolerations = append(p.softTolerations, t)
		}
	}
	return p
}

// withPod returns the same for a newer state of a pod that differs in its labels
// and its status only. Constraints that its labels were part of stay as they are.
func (p *PodInfo) withPod(pod *corev1.Pod) *PodInfo {
	newer := *p
	newer.Pod = pod
	return &newer
}

// affinityNames returns the nodes that the required node affinity names when
// every term of it names some, as a DaemonSet's pods do.
func affinityNames(pod *corev1.Pod) []string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var names sets.Set[string]
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var ofTerm sets.Set[string]
		for _, field := range term.MatchFields {
			if field.Key != metav1.ObjectNameField || field.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			named := sets.New(field.Values...)
			if ofTerm == nil {
				ofTerm = named
			} else {
				ofTerm = ofTerm.Intersection(named)
			}
		}
		if ofTerm == nil {
			return nil
		}
		names = ofTerm.Union(names)
	}
	if names == nil {
		return nil
	}
	return sets.List(names)
}

// mayPreempt reports whether the pod's policy lets others be deleted for it.
func (p *PodInfo) mayPreempt() bool {
	return p.Pod.Spec.PreemptionPolicy == nil || *p.Pod.Spec.PreemptionPolicy != corev1.PreemptNever
}
