package plugins

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// located is a pod on the node at an index of the snapshot.
type located struct {
	pod   *framework.PodInfo
	index int
}

// unit is a set of pods that preemption deletes as a whole: a pod, or all pods of a PodGroup with the disruption
// mode "all", on whatever nodes they are (KEP-5710).
type unit struct {
	// priority is the priority of the PodGroup, if there is one, else of the pod.
	priority int32
	grouped  bool
	pods     []located
}

// start returns when the first pod of the unit started.
func (u *unit) start() time.Time {
	first := startOf(u.pods[0].pod)
	for _, p := range u.pods[1:] {
		if t := startOf(p.pod); t.Before(first) {
			first = t
		}
	}
	return first
}

// moreImportant orders by priority; then come pods of PodGroups, the larger units first, and then those that have run
// for longer.
func moreImportant(a, b unit) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(rank(b.grouped), rank(a.grouped)),
		cmp.Compare(len(b.pods), len(a.pods)), a.start().Compare(b.start()))
}

func rank(grouped bool) int {
	if grouped {
		return 1
	}
	return 0
}

// units finds the units of a snapshot. It must not be kept when the snapshot changes.
type units struct {
	snapshot *framework.Snapshot
	// groups is nil if pods are decided on without regard to their PodGroups.
	groups framework.Groups
	// members are the pods of PodGroups that are on nodes; nil until they are needed.
	members map[types.NamespacedName][]located
}

// priorityOf returns the priority that counts for a pod that may be preempted.
func (u *units) priorityOf(p *framework.PodInfo) int32 {
	if g, ok := u.groupOf(p); ok {
		return g.Priority
	}
	return p.Priority
}

func (u *units) groupOf(p *framework.PodInfo) (framework.Group, bool) {
	if u.groups == nil {
		return framework.Group{}, false
	}
	key := framework.GroupOf(p.Pod)
	if key.Name == "" {
		return framework.Group{}, false
	}
	return u.groups(key)
}

// terminatingOn reports whether victims of a preemption, of lower priority, are still terminating on the node at the index.
func (u *units) terminatingOn(index int, priority int32) bool {
	return slices.ContainsFunc(u.snapshot.Nodes()[index].Pods, func(o *framework.PodInfo) bool {
		return framework.IsPreemptionVictim(o.Pod) && u.priorityOf(o) < priority
	})
}

// below returns the units of lower priority than the given one that have a pod on one of the nodes.
func (u *units) below(priority int32, indexes ...int) []unit {
	var all []unit
	var single []located // the memory of the units that are one pod
	seen := map[types.NamespacedName]bool{}
	for _, index := range indexes {
		for _, p := range u.snapshot.Nodes()[index].Pods {
			g, ok := u.groupOf(p)
			if !ok {
				g.Priority = p.Priority
			}
			if g.Priority >= priority {
				continue
			}
			if !g.Whole {
				single = append(single, located{p, index})
				last := len(single)
				all = append(all, unit{g.Priority, u.groups != nil && p.Pod.Spec.SchedulingGroup != nil, single[last-1 : last : last]})
				continue
			}
			if key := framework.GroupOf(p.Pod); !seen[key] {
				seen[key] = true
				all = append(all, unit{g.Priority, true, u.membersOf(key)})
			}
		}
	}
	return all
}

// membersOf returns the pods of a PodGroup that are on nodes.
func (u *units) membersOf(key types.NamespacedName) []located {
	if u.members == nil {
		u.members = map[types.NamespacedName][]located{}
		for index, n := range u.snapshot.Nodes() {
			for _, p := range n.Pods {
				if of := framework.GroupOf(p.Pod); of.Name != "" {
					u.members[of] = append(u.members[of], located{p, index})
				}
			}
		}
	}
	return u.members[key]
}

// spread reports whether one of the units has pods on nodes other than the one at the index.
func spread(all []unit, index int) bool {
	return slices.ContainsFunc(all, func(u unit) bool {
		return slices.ContainsFunc(u.pods, func(p located) bool { return p.index != index })
	})
}

// remove takes the pods of a unit off their nodes.
func (u *unit) remove(w *framework.WhatIf) {
	for _, p := range u.pods {
		w.Remove(p.index, p.pod)
	}
}

// putBack puts the pods of a unit, which were removed, on their nodes.
func (u *unit) putBack(w *framework.WhatIf) {
	for _, p := range u.pods {
		w.Add(p.index, p.pod)
	}
}

// spare returns the units that must be preempted, the most important first, and how many of their pods violate a budget
// by it. fits puts a unit back and reports whether the preemptor fits nevertheless; if not, it removes the unit again. Units whose preemption violates a
// budget are put back first, then the others, each kind from its most important unit.
func spare(all []unit, b budgets, fits func(u *unit) bool) (victims []unit, violations int) {
	slices.SortStableFunc(all, moreImportant)
	violating, others := b.split(all)
	for i := range violating {
		if v := &violating[i]; !fits(&v.unit) {
			victims = append(victims, v.unit)
			violations += v.violations
		}
	}
	for i := range others {
		if !fits(&others[i]) {
			victims = append(victims, others[i])
		}
	}
	if len(violating) > 0 && len(others) > 0 {
		slices.SortStableFunc(victims, moreImportant)
	}
	return victims, violations
}

// podsOf returns the pods of units, in their order.
func podsOf(all []unit) []*framework.PodInfo {
	pods := make([]*framework.PodInfo, 0, len(all))
	for i := range all {
		for _, p := range all[i].pods {
			pods = append(pods, p.pod)
		}
	}
	return pods
}
