package policy

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SetClusterPolicies replaces the cluster-wide policies.
func (s *Set) SetClusterPolicies(all []*ClusterPolicy) {
	s.tiers = map[Tier]*filing[*ClusterPolicy]{}
	for _, p := range all {
		if s.tiers[p.tier] == nil {
			s.tiers[p.tier] = &filing[*ClusterPolicy]{}
		}
		s.tiers[p.tier].add(p, requiredLabels(p.subject.pods))
	}
}

// SetNode sets the labels of a node.
func (s *Set) SetNode(name string, of map[string]string) {
	if s.nodes == nil {
		s.nodes = map[string]labels.Set{}
	}
	s.nodes[name] = of
}

// DeleteNode forgets the labels of a node.
func (s *Set) DeleteNode(name string) { delete(s.nodes, name) }

// decideTier returns the rule of a tier that decides about a pod's end of the connection; nil if the next tier does. Of policies with one
// priority, the first one by name is asked first.
func (s *Set) decideTier(tier Tier, pod *corev1.Pod, f *Flow, d direction, other *Peer) *ClusterRule {
	filed := s.tiers[tier]
	if filed == nil {
		return nil
	}
	of := filed.find(pod, func(p *ClusterPolicy) bool { return len(p.rules[d]) > 0 && p.subject.selectsPod(pod, s.namespaces) })
	slices.SortFunc(of, func(a, b *ClusterPolicy) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.name, b.name))
	})
	for _, p := range of {
		for i := range p.rules[d] {
			r := &p.rules[d][i]
			action, matches := r.decide(s, f, other)
			switch {
			case !matches:
			case action == Pass:
				return nil
			default:
				return &ClusterRule{Policy: p.name, Tier: tier, Rule: i, Name: r.name, Action: action}
			}
		}
	}
	return nil
}

// decide returns the action of a rule, if it matches. One with an unknown part fails closed, as the API's documentation says: Accept
// matches nothing, all else denies everything.
func (r *clusterRule) decide(s *Set, f *Flow, other *Peer) (action Action, matches bool) {
	if r.unknown {
		return Deny, r.action != Accept
	}
	return r.action, slices.ContainsFunc(r.peers, func(p clusterSelection) bool { return p.selects(s, other) }) &&
		(r.ports == nil || slices.ContainsFunc(r.ports, func(p port) bool { return p.matches(f) }))
}

func (c *clusterSelection) selects(s *Set, p *Peer) bool {
	if pod := p.selectable(); pod != nil && c.selectsPod(pod, s.namespaces) {
		return true
	}
	if c.nodes != nil && p.selectable() == nil {
		if of, known := s.nodes[p.onNode()]; known && c.nodes.Matches(of) {
			return true
		}
	}
	for _, network := range c.networks {
		if network.Contains(p.Address.Unmap()) {
			return true
		}
	}
	return false
}

func (c *clusterSelection) selectsPod(pod *corev1.Pod, namespaces map[string]labels.Set) bool {
	if c.pods == nil || !c.pods.Matches(labels.Set(pod.Labels)) {
		return false
	}
	of, known := namespaces[pod.Namespace]
	return known && c.namespaces.Matches(of)
}

// String names the policy and the rule.
func (r *ClusterRule) String() string {
	text := fmt.Sprintf("%s %s of the tier %s, rule %d", ClusterKind, r.Policy, r.Tier, r.Rule)
	if r.Name != "" {
		text += " (" + r.Name + ")"
	}
	return text
}
