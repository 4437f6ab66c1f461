package queue

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Groups looks up the PodGroups of pods. Its methods are called under the queue's lock.
type Groups interface {
	// Ready reports whether a group may be decided on: its PodGroup exists and, if it is a gang, enough of its
	// pods do.
	Ready(group types.NamespacedName) bool
	// Priority returns the priority of a group.
	Priority(group types.NamespacedName) int32
}

// group is the part of an entry that only the entry of a group has.
//
//	Set(a), Set(b) --> members a, b of an entry that is gated
//	Set(c) -----------> the group is ready: active --Pop--> deciding, with a, b and c
//	                       ^                                   | Decided(a), Decided(b): binding, on their own
//	                       +-- back-off, event <-- EndGroup ---+ c stays a member
//	                                                           | EndGroup without members: the entry is removed
//
// All members are decided on at once, so no two groups each hold a part of the resources that the other one
// waits for.
type group struct {
	key types.NamespacedName
	// members are the pods of the group without a node.
	members []*queuedPod
}

// hasGroup reports whether the pod is decided on together with others.
func (q *Queue) hasGroup(pod *corev1.Pod) bool {
	return q.podGroups != nil && framework.GroupOf(pod) != types.NamespacedName{}
}

// any reports whether f is true for the pod, or for one of the group's.
func (p *queuedPod) any(f func(p *queuedPod) bool) bool {
	if p.group == nil {
		return f(p)
	}
	return slices.ContainsFunc(p.group.members, f)
}

// joinLocked makes a pod a member of its group, and makes the group ready if it lacked only this pod.
func (q *Queue) joinLocked(p *queuedPod) {
	key := framework.GroupOf(p.info.Pod)
	entry := q.groups[key]
	if entry == nil {
		entry = &queuedPod{id: types.UID(key.String()), namespace: key.Namespace, name: key.Name, group: &group{key: key}, index: -1}
		q.groups[key] = entry
	}
	q.stampLocked(p)
	q.moveLocked(p, member)
	p.of, p.hasNode = entry, false
	entry.group.members = append(entry.group.members, p)
	switch entry.state {
	case nowhere:
		q.enterLocked(entry)
	case deciding, failing:
	default:
		q.placeLocked(entry)
	}
}

// leaveLocked takes a member out of its group.
func (q *Queue) leaveLocked(p *queuedPod) {
	entry := p.of
	p.of = nil
	left := slices.Clone(entry.group.members) // an attempt may have the old slice
	entry.group.members = slices.DeleteFunc(left, func(o *queuedPod) bool { return o == p })
	switch {
	case entry.state == deciding:
		entry.changed = true
	case len(entry.group.members) == 0:
		q.dropLocked(entry)
	case entry.state.waits() && q.gatedLocked(entry):
		q.moveLocked(entry, gated)
	}
}

// attempt returns the attempt of a popped group: by priority, then those that have waited for the most
// decisions, then the oldest.
func (g *group) attempt(entry *queuedPod) *Attempt {
	members := slices.Clone(g.members)
	slices.SortFunc(members, func(a, b *queuedPod) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.decisions, a.decisions), a.since.Compare(b.since), strings.Compare(a.name, b.name))
	})
	a := &Attempt{queuedPod: entry, Group: g.key}
	for _, p := range members {
		p.decisions++
		a.Members = append(a.Members, attemptOf(p))
	}
	return a
}

// Outcome is how the decision on a group has ended.
type Outcome int

// The outcomes of decisions on groups.
const (
	// Placed groups have got nodes; members may be left that have not.
	Placed Outcome = iota
	// Rejected groups do not fit.
	Rejected
	// Nominated groups do not fit as they were tried, but do on other nodes, which their pods are nominated to.
	Nominated
	// Errored groups could not be decided on.
	Errored
)

// EndGroup ends the attempt of a group. Members without a node wait for the next one: for an event that
// the hint approves for one of them, if the group was rejected, and in any case for the back-off. The members that are
// left of a group that was placed are decided on again at once, with the group's place in the order, so that they
// may preempt.
func (q *Queue) EndGroup(a *Attempt, outcome Outcome) {
	entry := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	left := 0
	for _, m := range a.Members {
		if m.state == member {
			m.keepReasons()
			m.since = q.clock.Now()
			left++
		}
	}
	again := entry.changed || len(entry.group.members) > left ||
		q.inFlight.any(entry.seen, func(c framework.ClusterEvent) bool {
			return entry.any(func(p *queuedPod) bool { return q.hint(p.waiting(), c) })
		})
	q.endLocked(entry)
	if len(entry.group.members) == 0 || q.closed {
		q.dropLocked(entry)
		return
	}
	if outcome != Placed || left == 0 {
		q.stampLocked(entry)
	}
	switch outcome {
	case Placed:
		entry.rejected, entry.failed, entry.readyAt = 0, 0, time.Time{}
		again = true
	case Rejected, Nominated:
		again = again || outcome == Nominated
		entry.rejected, entry.failed = entry.rejected+1, 0
		entry.readyAt = entry.since.Add(q.backoffOfGroup(entry.rejected, len(entry.group.members)))
	case Errored:
		entry.failed++
		entry.readyAt = entry.since.Add(q.backoffOfGroup(entry.failed, len(entry.group.members)))
		again = true
	}
	switch {
	case again:
		q.placeLocked(entry)
	case q.gatedLocked(entry):
		q.moveLocked(entry, gated)
	default:
		q.armFlushLocked(unschedulableFor) // before time can move on
		q.moveLocked(entry, unschedulable)
	}
}

// backoffOfGroup is backoffOf for a group: the longest back-off is a pod's longest one times the square root
// of the number of pods.
func (q *Queue) backoffOfGroup(attempts, pods int) time.Duration {
	longest := time.Duration(float64(q.longest) * math.Sqrt(float64(pods)))
	return backoff(q.initial, longest, attempts)
}

// Regroup is called when a PodGroup, or the number of its pods with nodes, has changed. helps is set if that may
// let in a group that did not fit.
func (q *Queue) Regroup(key types.NamespacedName, helps bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	entry := q.groups[key]
	if entry == nil || q.closed {
		return
	}
	switch {
	case entry.state == deciding:
		entry.changed = entry.changed || helps
	case entry.state == gated, entry.state == unschedulable && helps:
		q.placeLocked(entry)
	case entry.state.waits() && q.gatedLocked(entry):
		q.moveLocked(entry, gated)
	}
}
