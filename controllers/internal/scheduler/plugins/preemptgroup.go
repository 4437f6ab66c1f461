package plugins

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Member is a pod of a PodGroup that preempts.
type Member struct {
	// In holds the inputs of the decision on the pod.
	In Input
	// Node is the node that the pod gets while all units of lower priority are gone.
	Node string
}

// GroupPreemption is the set of pods to delete for a PodGroup that does not fit.
type GroupPreemption struct {
	// Victims are the pods to delete, the most important first.
	Victims []*framework.PodInfo
	// Violations is the number of victims whose deletion violates a PodDisruptionBudget.
	Violations int
}

// GroupSearch is the search for the pods to delete for a PodGroup, on all nodes together (KEP-5710). It has three
// steps: SearchVictims removes all units of lower priority from the snapshot, its caller finds nodes for the group,
// and Spare puts back the units without which the group still fits on its nodes. At the end, Undo restores the
// snapshot. Between the steps, the snapshot is as before.
type GroupSearch struct {
	snapshot *framework.Snapshot
	whatIf   *framework.WhatIf
	lower    []unit
}

// SearchVictims removes from the snapshot all that a PodGroup of this priority may preempt.
func SearchVictims(snapshot *framework.Snapshot, groups framework.Groups, priority int32) *GroupSearch {
	s := &GroupSearch{snapshot: snapshot, whatIf: snapshot.WhatIf()}
	indexes := make([]int, snapshot.Len())
	for i := range indexes {
		indexes[i] = i
	}
	s.lower = (&units{snapshot: snapshot, groups: groups}).below(priority, indexes...)
	for i := range s.lower {
		s.lower[i].remove(s.whatIf)
	}
	return s
}

// Empty reports whether there is nothing to preempt.
func (s *GroupSearch) Empty() bool { return len(s.lower) == 0 }

// Undo restores the snapshot.
func (s *GroupSearch) Undo() { s.whatIf.Undo() }

// Spare returns the pods that must be deleted so that each member fits on its node, in the presence of the
// members before it. As in kube-scheduler, members do not move to other nodes to spare a pod.
func (s *GroupSearch) Spare(members []Member, all []*policyv1.PodDisruptionBudget) GroupPreemption {
	check := s.newCheck(members)
	victims, violations := spare(s.lower, newBudgets(all), func(u *unit) bool {
		u.putBack(s.whatIf)
		if check.fits(u) {
			return true
		}
		u.remove(s.whatIf)
		return false
	})
	return GroupPreemption{Victims: podsOf(victims), Violations: violations}
}

// groupCheck checks whether the members of a group fit on their nodes.
type groupCheck struct {
	snapshot *framework.Snapshot
	members  []checkedMember
	// local is set if the pods on a node do not matter to members on other nodes: no rules concern them.
	local bool
}

type checkedMember struct {
	in    Input
	index int
}

func (s *GroupSearch) newCheck(members []Member) *groupCheck {
	c := &groupCheck{snapshot: s.snapshot, local: true}
	for _, m := range members {
		if index, ok := s.snapshot.Index(m.Node); ok {
			c.members = append(c.members, checkedMember{m.In, index})
		}
	}
	nominated := withoutMembers(members)
	// Rules are looked for where there may be the most of them: with all pods and all members.
	w := s.snapshot.WhatIf()
	for i := range s.lower {
		s.lower[i].putBack(w)
	}
	for i := range c.members {
		w.Add(c.members[i].index, c.members[i].in.Pod)
	}
	for i := range c.members {
		in := &c.members[i].in
		in.Nominated, in.Trace = nominated, nil
		in.recount()
		c.local = c.local && in.rules == nil && len(in.exclusive) == 0
	}
	w.Undo()
	return c
}

// withoutMembers returns the nominated pods without the members: these are on their nodes already.
func withoutMembers(members []Member) map[string][]*framework.PodInfo {
	if len(members) == 0 || len(members[0].In.Nominated) == 0 {
		return nil
	}
	own := map[types.UID]bool{}
	for _, m := range members {
		own[m.In.Pod.Pod.UID] = true
	}
	others := map[string][]*framework.PodInfo{}
	for node, pods := range members[0].In.Nominated {
		for _, p := range pods {
			if !own[p.Pod.UID] {
				others[node] = append(others[node], p)
			}
		}
	}
	return others
}

// fits reports whether all members fit after a unit was put back. Before, they did.
func (c *groupCheck) fits(u *unit) bool {
	if !c.local {
		return c.fitAll()
	}
	checked := map[int]bool{}
	for _, p := range u.pods {
		if !checked[p.index] {
			checked[p.index] = true
			if !c.fitOn(p.index) {
				return false
			}
		}
	}
	return true
}

// fitOn reports whether the members of one node fit, without regard to others.
func (c *groupCheck) fitOn(index int) bool {
	n := c.snapshot.Nodes()[index]
	for i := range c.members {
		m := &c.members[i]
		if m.index != index {
			continue
		}
		if m.in.filterAs(n, index, nil) != nil {
			return false
		}
		n = n.With(m.in.Pod)
	}
	return true
}

// fitAll reports whether the members fit, each with counts that include the members before it.
func (c *groupCheck) fitAll() bool {
	w := c.snapshot.WhatIf()
	defer w.Undo()
	for i := range c.members {
		m := &c.members[i]
		m.in.recount()
		if m.in.filter(m.index) != nil {
			return false
		}
		w.Add(m.index, m.in.Pod)
	}
	return true
}

// IsBeingFreed reports whether victims of an earlier preemption, of lower priority than the given one, are still
// terminating on one of the nodes.
func IsBeingFreed(snapshot *framework.Snapshot, groups framework.Groups, priority int32, nodes []string) bool {
	u := &units{snapshot: snapshot, groups: groups}
	return slices.ContainsFunc(nodes, func(name string) bool {
		index, ok := snapshot.Index(name)
		return ok && u.terminatingOn(index, priority)
	})
}
