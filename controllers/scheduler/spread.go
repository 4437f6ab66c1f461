package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// spreadConstraint is a topology spread constraint.
type spreadConstraint struct {
	// hard is DoNotSchedule, otherwise ScheduleAnyway.
	hard                       bool
	topologyKey                string
	maxSkew, minDomains        int32
	honorAffinity, honorTaints bool
	// set has the pods that are spread; own says whether the pod itself is counted
	// where it would be.
	set *PodSet
	own bool
}

// newSpread parses a pod's constraints. A constraint that leaves out its policies
// honours the pod's node affinity and ignores taints.
func newSpread(pod *corev1.Pod) []spreadConstraint {
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	all := make([]spreadConstraint, len(pod.Spec.TopologySpreadConstraints))
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		selector := selectorOf(c.LabelSelector)
		all[i] = spreadConstraint{
			hard:          c.WhenUnsatisfiable == corev1.DoNotSchedule,
			topologyKey:   c.TopologyKey,
			maxSkew:       c.MaxSkew,
			minDomains:    1,
			honorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
			honorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
			set:           NewPodSet(pod.Namespace, selector),
			own:           selector.Matches(labels.Set(pod.Labels)),
		}
		if c.MinDomains != nil {
			all[i].minDomains = *c.MinDomains
		}
	}
	return all
}

// defaultSpread are kube-scheduler's constraints for pods that state none and
// belong with others.
func defaultSpread(siblings *PodSet) []spreadConstraint {
	return []spreadConstraint{
		{topologyKey: corev1.LabelHostname, maxSkew: 3, honorAffinity: true, set: siblings},
		{topologyKey: corev1.LabelTopologyZone, maxSkew: 5, honorAffinity: true, set: siblings},
	}
}

// counts reports whether the constraint counts the pods on the node.
func (c *spreadConstraint) counts(p *PodInfo, n *NodeInfo) bool {
	if c.honorAffinity && p.choosy {
		if match, _ := p.required.Match(n.Node); !match {
			return false
		}
	}
	return !c.honorTaints || toleratesAll(p.Pod.Spec.Tolerations, n.hard)
}

// hardSpread is a DoNotSchedule constraint with what it counts.
type hardSpread struct {
	*spreadConstraint
	domains *domains
	pods    []int32 // by domain
	// known are the domains with a node that counts; the fewest pods in one of
	// them, where that is, and the fewest in any other.
	known           []bool
	fewest, fewest2 int32
	fewestAt        int32
	tooFew          bool // domains, for minDomains
}

// hardSpreads counts for the pod's DoNotSchedule constraints. Only nodes count
// that have the topology keys of all of them.
func (in *Input) hardSpreads() []hardSpread {
	var all []hardSpread
	for i := range in.Pod.spread {
		if c := &in.Pod.spread[i]; c.hard {
			d := in.Snapshot.domainsOf(c.topologyKey)
			all = append(all, hardSpread{spreadConstraint: c, domains: d, pods: make([]int32, d.n), known: make([]bool, d.n)})
		}
	}
	for i := range all {
		h := &all[i]
		counts := in.Snapshot.countsOf(h.set)
		for place, n := range in.Snapshot.nodes {
			if !haveKeys(all, place) || !h.counts(in.Pod, n) {
				continue
			}
			domain := h.domains.at[place]
			h.known[domain] = true
			h.pods[domain] += counts[in.Snapshot.slots[place]]
		}
		h.findFewest()
	}
	return all
}

func haveKeys(all []hardSpread, place int) bool {
	for i := range all {
		if all[i].domains.at[place] == none {
			return false
		}
	}
	return true
}

func (h *hardSpread) findFewest() {
	var known int32
	h.fewest, h.fewest2, h.fewestAt = math.MaxInt32, math.MaxInt32, none
	for domain, pods := range h.pods {
		switch {
		case !h.known[domain]:
			continue
		case pods < h.fewest:
			h.fewest, h.fewest2, h.fewestAt = pods, h.fewest, int32(domain)
		case pods < h.fewest2:
			h.fewest2 = pods
		}
		known++
	}
	h.tooFew = known < h.minDomains
}

// filter says whether one more pod at the place is within the skew, if so many
// more were in its domain than are.
func (h *hardSpread) filter(place int, more int32) *rejection {
	domain := h.domains.at[place]
	if domain == none {
		return fixed.spreadLabel
	}
	pods := h.pods[domain] + more
	fewest := h.fewest
	if domain == h.fewestAt {
		fewest = h.fewest2
	}
	if h.known[domain] {
		fewest = min(fewest, pods)
	}
	if h.tooFew {
		fewest = 0
	}
	if h.own {
		pods++
	}
	if pods-fewest > h.maxSkew {
		return fixed.spread
	}
	return nil
}
