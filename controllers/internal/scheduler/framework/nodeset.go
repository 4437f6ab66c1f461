package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeSet is a set of nodes of a snapshot, by index: a bit for each. Nil stands for all nodes.
type NodeSet []uint64

const bitsPerWord = 64

// NewNodeSet returns an empty set for n nodes.
func NewNodeSet(n int) NodeSet { return make(NodeSet, (n+bitsPerWord-1)/bitsPerWord) }

// Add adds the node at the index.
func (s NodeSet) Add(index int) { s[index/bitsPerWord] |= 1 << (index % bitsPerWord) }

// Has reports whether the set has the node at the index.
func (s NodeSet) Has(index int) bool { return s[index/bitsPerWord]&(1<<(index%bitsPerWord)) != 0 }

// And returns the nodes that are in both sets. A nil set has all nodes.
func (s NodeSet) And(other NodeSet) NodeSet {
	switch {
	case s == nil:
		return other
	case other == nil:
		return s
	}
	both := slices.Clone(s)
	for i := range both {
		both[i] &= other[i]
	}
	return both
}

func (s NodeSet) unite(other NodeSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// NodesFor returns a set that has all nodes that a selector matches, and may have others. A nil selector matches
// all nodes. Of each term it compares only one requirement, which lists names or the values of a label.
func (s *Snapshot) NodesFor(selector *corev1.NodeSelector) NodeSet {
	return s.nodesFor(selector, func(t *corev1.NodeSelectorTerm) NodeSet {
		if named := s.nodesNamed(t); named != nil {
			return named
		}
		return s.nodesLabelled(t)
	})
}

// NodesLabelled is NodesFor for a selector that does not compare names, as the node affinity of volumes. exact is set
// if the selector matches all nodes of the set.
func (s *Snapshot) NodesLabelled(selector *corev1.NodeSelector) (set NodeSet, exact bool) {
	exact = selector == nil || len(selector.NodeSelectorTerms) > 0 && !slices.ContainsFunc(selector.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchFields) > 0 || len(t.MatchExpressions) != 1 || t.MatchExpressions[0].Operator != corev1.NodeSelectorOpIn
	})
	return s.nodesFor(selector, s.nodesLabelled), exact
}

func (s *Snapshot) nodesFor(selector *corev1.NodeSelector, ofTerm func(*corev1.NodeSelectorTerm) NodeSet) NodeSet {
	if selector == nil || len(selector.NodeSelectorTerms) == 0 {
		return nil
	}
	all := NewNodeSet(len(s.nodes))
	for i := range selector.NodeSelectorTerms {
		of := ofTerm(&selector.NodeSelectorTerms[i])
		if of == nil {
			return nil
		}
		all.unite(of)
	}
	return all
}

// nodesLabelled returns the nodes that have one of the values that a term lists for a label; nil: it lists none.
func (s *Snapshot) nodesLabelled(term *corev1.NodeSelectorTerm) NodeSet {
	for i := range term.MatchExpressions {
		if r := &term.MatchExpressions[i]; r.Operator == corev1.NodeSelectorOpIn {
			return s.NodesWith(r.Key, r.Values...)
		}
	}
	return nil
}

// nodesNamed returns the nodes of the names that a term lists; nil: it lists none.
func (s *Snapshot) nodesNamed(term *corev1.NodeSelectorTerm) NodeSet {
	for i := range term.MatchFields {
		if r := &term.MatchFields[i]; r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn {
			named := NewNodeSet(len(s.nodes))
			for _, name := range r.Values {
				if index, ok := s.byName[name]; ok {
					named.Add(index)
				}
			}
			return named
		}
	}
	return nil
}

// NodesWith returns the nodes whose label has one of the values.
func (s *Snapshot) NodesWith(label string, values ...string) NodeSet {
	d, found := s.DomainsOf(label), NewNodeSet(len(s.nodes))
	wanted := make([]int32, 0, len(values))
	for _, value := range values {
		if number, ok := d.numbers[value]; ok {
			wanted = append(wanted, number)
		}
	}
	if len(wanted) == 0 {
		return found
	}
	slices.Sort(wanted)
	for index, domain := range d.at {
		if domain == wanted[0] || len(wanted) > 1 && domain != NoDomain && contains(wanted, domain) {
			found.Add(index)
		}
	}
	return found
}

func contains(sorted []int32, n int32) bool {
	_, found := slices.BinarySearch(sorted, n)
	return found
}
