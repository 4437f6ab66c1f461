package scheduler

import (
	"slices"
	"strings"
)

// NodeReasons are the reasons against a node, in kube-scheduler's words.
type NodeReasons struct {
	Node    string
	Reasons []string
}

// Against returns the reasons against each node of the snapshot that the diagnosis is about,
// by the nodes' names. Nodes without a reason are left out.
func (d *Diagnosis) Against(s *Snapshot) []NodeReasons {
	var all []NodeReasons
	for place, n := range s.nodes {
		if r := d.at(place); r != nil {
			all = append(all, NodeReasons{n.Name(), slices.Clone(r.reasons)})
		}
	}
	slices.SortFunc(all, func(a, b NodeReasons) int { return strings.Compare(a.Node, b.Node) })
	return all
}
