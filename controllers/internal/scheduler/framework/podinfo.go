package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// PodInfo is a pod with everything that decisions need from it, computed once. It is
// immutable.
type PodInfo struct {
	Pod      *corev1.Pod
	Priority int32
	// Requests are the resources that the pod occupies on its node.
	Requests Resource
	// ScoredCPU and ScoredMemory are the requests that scores use for the pod on a node, in millicores
	// and bytes; AskedCPU and AskedMemory those that they use for the pod while it has no node.
	ScoredCPU, ScoredMemory int64
	AskedCPU, AskedMemory   int64

	Ports                 []HostPort
	RequiredNodeAffinity  nodeaffinity.RequiredNodeAffinity
	PreferredNodeAffinity *nodeaffinity.PreferredSchedulingTerms
	// SoftTolerations are the tolerations that can tolerate PreferNoSchedule taints.
	SoftTolerations []corev1.Toleration
	// NodeNames are the only nodes that the required node affinity can match, by
	// metadata.name, sorted; nil: any node.
	NodeNames []string
	// HasNodeAffinity is set if the pod has a node selector or node affinity.
	HasNodeAffinity bool

	// Features are the features that the pod's node must declare, sorted; nil: none.
	Features []string

	SpreadConstraints []SpreadConstraint
	AffinityTerms     []AffinityTerm
	// Claims are the claims of the pod's volumes, in the order of the volumes.
	Claims []PodClaim
}

// NewPodInfo returns the PodInfo of a pod. The pod must not be changed afterwards.
func NewPodInfo(pod *corev1.Pod) *PodInfo {
	p := &PodInfo{
		Pod:                  pod,
		Priority:             schedulinghelper.PodPriority(pod),
		Requests:             podRequests(pod),
		Ports:                hostPorts(pod),
		RequiredNodeAffinity: nodeaffinity.GetRequiredNodeAffinity(pod),
		NodeNames:            affinityNames(pod),
		HasNodeAffinity:      len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil,
		Features:             requiredFeatures(pod),
		SpreadConstraints:    newSpread(pod),
		AffinityTerms:        newTerms(pod),
		Claims:               newClaims(pod),
	}
	p.ScoredCPU, p.ScoredMemory = scoredRequests(pod)
	p.AskedCPU, p.AskedMemory = askedRequests(pod)
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		// The API's validation refuses terms that cannot be parsed. If there are any, the
		// others still count.
		p.PreferredNodeAffinity, _ = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range pod.Spec.Tolerations {
		if t.Effect == "" || t.Effect == corev1.TaintEffectPreferNoSchedule {
			p.SoftTolerations = append(p.SoftTolerations, t)
		}
	}
	return p
}

// WithPod returns the PodInfo of a newer state of the pod that differs in labels and status
// only. Constraints that were parsed with the old labels stay as they are.
func (p *PodInfo) WithPod(pod *corev1.Pod) *PodInfo {
	newer := *p
	newer.Pod = pod
	return &newer
}

// affinityNames returns the names of the nodes that the required node affinity allows, if
// each of its terms lists names, as the DaemonSet controller's do; otherwise nil.
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

// Prefers reports whether the pod has preferred terms of affinity or anti-affinity to other pods.
func (p *PodInfo) Prefers() bool {
	return slices.ContainsFunc(p.AffinityTerms, func(t AffinityTerm) bool { return t.Kind == Preferred })
}

// MayPreempt reports whether the pod's preemption policy allows preemption.
func (p *PodInfo) MayPreempt() bool {
	return p.Pod.Spec.PreemptionPolicy == nil || *p.Pod.Spec.PreemptionPolicy != corev1.PreemptNever
}

// IsPreemptionVictim reports whether the pod is terminating because of a preemption.
func IsPreemptionVictim(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}
