package plugins

import (
	"slices"
	"strings"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// NodeReasons are the reasons against one node, in kube-scheduler's words.
type NodeReasons struct {
	Node    string
	Reasons []string
}

// Against returns the reasons against each node, sorted by node name. s is the snapshot of
// the decision. Nodes without a reason are left out.
func (d *Diagnosis) Against(s *framework.Snapshot) []NodeReasons {
	var all []NodeReasons
	for index, n := range s.Nodes() {
		if r := d.at(index); r != nil {
			all = append(all, NodeReasons{n.Name(), slices.Clone(r.reasons)})
		}
	}
	slices.SortFunc(all, func(a, b NodeReasons) int { return strings.Compare(a.Node, b.Node) })
	return all
}
