package scheduler

import (
	"context"
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
	"minikcm.dev/minikcm/internal/cause"
)

// The messages of preemption about a group, in kube-scheduler's words.
const (
	messageGroupPrefix  = "pod group preemption: "
	messageGroupNever   = "not eligible due to preemptionPolicy=Never."
	messageGroupOngoing = "ongoing preemption on nominated nodes"
	messageGroupNone    = "No preemption victims found for incoming preemptor"
	messageGroupFound   = "found a placement for podgroup, preempting %d victims"
)

// everywhere is the node name in kube-scheduler's events of a preemption for a group.
const everywhere = "cluster"

// groupPreemption is a preemption that makes room for a group.
type groupPreemption struct {
	plugins.GroupPreemption
	// nominations are the nodes that the members get by it; the others keep their nominations.
	nominations map[*queue.Attempt]string
	// ongoing is set if the victims of an earlier decision are still terminating.
	ongoing bool
	// needed is how many of the nominated members must be left for the preemption to help.
	needed int
}

// groupPostFilter looks for pods to preempt for a group that does not fit, and returns the message of
// kube-scheduler's PodGroupPostFilter.
func (s *Scheduler) groupPostFilter(ctx context.Context, a *queue.Attempt, d *groupDecision, scheduled int) string {
	if !s.profileOf(a.Members[0].Info.Pod).Preempts() {
		return ""
	}
	return messageGroupPrefix + s.findGroupVictims(ctx, a, d, scheduled)
}

// findGroupVictims looks for pods to preempt, on all nodes together: the group is placed as if all pods of lower
// priority were gone, and then as many of them as possible are spared (KEP-5710). Nothing is decided unless the whole
// group fits.
func (s *Scheduler) findGroupVictims(ctx context.Context, a *queue.Attempt, d *groupDecision, scheduled int) string {
	switch {
	case slices.ContainsFunc(a.Members, func(m *queue.Attempt) bool { return !m.Info.MayPreempt() }):
		return messageGroupNever
	case s.isBeingFreed(a, d.object):
		d.preemption = &groupPreemption{nominations: map[*queue.Attempt]string{}, ongoing: true}
		return messageGroupOngoing
	}
	search := plugins.SearchVictims(s.snapshot, s.groups.victim, priorityOf(d.object))
	defer search.Undo()
	if search.Empty() {
		return messageGroupNone
	}
	again := s.placeAgain(ctx, a, d.object, scheduled)
	switch {
	case again.err != nil:
		d.err = fmt.Errorf("error in %q PodGroupPostFilter plugins: %s%w", plugins.DefaultPreemption, messageGroupPrefix, again.errorOf(nil))
		return ""
	case again.message != "":
		return again.message
	}
	p := &groupPreemption{nominations: map[*queue.Attempt]string{}, needed: max(1, plugins.MinCount(d.object)-scheduled)}
	members := make([]plugins.Member, len(again.placed))
	for i := range again.placed {
		m := &again.placed[i]
		members[i] = plugins.Member{In: m.in, Node: m.node}
		p.nominations[m.attempt] = m.node
	}
	p.GroupPreemption = search.Spare(members, s.allBudgets())
	d.preemption = p
	return fmt.Sprintf(messageGroupFound, len(p.Victims))
}

// placeAgain is place on the snapshot without the pods that may be preempted. It reserves nothing.
func (s *Scheduler) placeAgain(ctx context.Context, a *queue.Attempt, object *schedulingv1beta1.PodGroup, scheduled int) *groupDecision {
	byExtenders := make([]bool, len(a.Members))
	for i, m := range a.Members {
		byExtenders[i] = m.ByExtenders
	}
	again := newGroupDecision(object)
	s.place(ctx, a, again, scheduled).release()
	for i, m := range a.Members {
		m.ByExtenders = m.ByExtenders || byExtenders[i]
	}
	return again
}

// isBeingFreed reports whether victims of an earlier preemption are still terminating on a node that a member is nominated to.
func (s *Scheduler) isBeingFreed(a *queue.Attempt, object *schedulingv1beta1.PodGroup) bool {
	var nodes []string
	for _, m := range a.Members {
		if m.Nominated != "" && !slices.Contains(nodes, m.Nominated) {
			nodes = append(nodes, m.Nominated)
		}
	}
	return plugins.IsBeingFreed(s.snapshot, s.groups.victim, priorityOf(object), nodes)
}

// nominationOf returns the node that a member, which was not placed, is nominated to after the decision; "": none. If the
// group waits for no victims, the members lose their nominations: on a node that has room for one of them only, they would keep each other out.
func (d *groupDecision) nominationOf(m *queue.Attempt) string {
	if d.err != nil || d.preemption == nil {
		return ""
	}
	if node, ok := d.preemption.nominations[m]; ok {
		return node
	}
	return m.Nominated
}

// nominateGroup nominates the members of a group that was not placed, so that later decisions keep the room free.
func (s *Scheduler) nominateGroup(a *queue.Attempt, d *groupDecision) {
	for _, m := range a.Members {
		if node := d.nominationOf(m); node != m.Nominated {
			s.renominate(m, node)
		}
	}
}

// explainGroup keeps the annotations about the members of a group that was not placed.
func (s *Scheduler) explainGroup(a *queue.Attempt, d *groupDecision) {
	for _, m := range a.Members {
		_, message := d.against(m)
		r := explain.Result{Message: message}
		if d.preemption != nil && !d.preemption.ongoing {
			r.Group, r.Nominated = &d.preemption.GroupPreemption, d.preemption.nominations[m]
		}
		if f, ok := d.failed[m]; ok {
			s.explain(m, f.in, r)
			continue
		}
		if i := slices.IndexFunc(d.placed, func(p placed) bool { return p.attempt == m }); i >= 0 {
			s.explain(m, d.placed[i].in, r)
			continue
		}
		s.explain(m, plugins.Input{Snapshot: s.snapshot, Trace: explain.Trace(m.Info.Pod)}, r) // no node was tried
	}
}

// preemptForGroup deletes the pods that a group preempts, unless too many of its members are gone by now.
func (s *Scheduler) preemptForGroup(ctx context.Context, a *queue.Attempt, d *groupDecision) error {
	left := 0
	for m := range d.preemption.nominations {
		if s.stillPending(m.Info.Pod) {
			left++
		}
	}
	if ctx.Err() != nil || left < d.preemption.needed {
		return nil
	}
	by := preemptor{kind: "podgroup", uid: d.object.UID, scheduler: a.Members[0].Info.Pod.Spec.SchedulerName, where: everywhere}
	return s.evictAll(cause.With(ctx, causesOf(a.Members)), by, d.preemption.Victims)
}
