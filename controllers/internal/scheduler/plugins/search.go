package plugins

import (
	"slices"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Extenders is the plugin that rejections of HTTP extenders count for, in traces.
const Extenders = "HTTPExtender"

// Search is a decision between its filters and its scores: HTTP extenders may exclude nodes, and add
// scores. Filter, then Decide without anything between, is the function Decide.
type Search struct {
	in Input
	// feasible are the indexes of the nodes that passed the filters.
	feasible []int
	// looked is the number of nodes that were looked at, from Input.Start on. possible has the nodes among
	// them that were tried; nil: all were.
	looked    int
	possible  framework.NodeSet
	next      int
	diagnosis *Diagnosis
	// preferred is set if the only feasible node is Input.Prefer: no other was tried.
	preferred bool
	// extended is set if a node was excluded.
	extended bool
}

// Filter does the first half of a decision.
func Filter(in Input) *Search {
	s := &Search{in: in}
	s.find()
	return s
}

// Feasible returns the nodes that passed the filters and were not excluded; none if the decision has
// failed already.
func (s *Search) Feasible() []*framework.NodeInfo {
	if s.in.Devices.failure() != nil {
		return nil
	}
	nodes := make([]*framework.NodeInfo, len(s.feasible))
	for i, index := range s.feasible {
		nodes[i] = s.in.Snapshot.Nodes()[index]
	}
	return nodes
}

// Preferred reports whether only the node was tried that is being freed for the pod.
func (s *Search) Preferred() bool { return s.preferred }

// Extended reports whether a node was excluded.
func (s *Search) Extended() bool { return s.extended }

// Exclude removes a feasible node. An empty reason is none. Preemption on the node helps unless final
// is set.
func (s *Search) Exclude(node, reason string, final bool) {
	index, ok := s.in.Snapshot.Index(node)
	if !ok || !slices.Contains(s.feasible, index) {
		return
	}
	r := &rejection{plugin: Extenders, final: final}
	if reason != "" {
		r.reasons = []string{reason}
	}
	s.feasible = slices.DeleteFunc(s.feasible, func(i int) bool { return i == index })
	s.diagnosis.reject(index, r)
	s.in.Trace.excluded(node, r)
	s.extended = true
}

// Fail ends the decision with an error.
func (s *Search) Fail(err error) Decision { return Decision{Next: s.next, Err: err} }

// Decide does the second half of a decision. extra are added to the scores of the feasible nodes; nil:
// nothing is.
func (s *Search) Decide(extra []int64) Decision {
	if len(s.feasible) == 0 {
		s.tryOthers()
	}
	if err := s.in.Devices.failure(); err != nil {
		return s.Fail(err)
	}
	if len(s.feasible) == 0 {
		return Decision{Next: s.next, Diagnosis: s.diagnosis}
	}
	return Decision{Node: s.in.best(s.feasible, extra), Next: s.next}
}
