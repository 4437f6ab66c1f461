package scheduler

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"minikcm.dev/minikcm/controllers/scheduler/framework"
	"minikcm.dev/minikcm/controllers/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/scheduler/queue"
)

// messageGroup is the reason against a pod that is not placed because its group is not.
const messageGroup = "pod group is unschedulable"

// groupDecision is the decision on the pods of a group.
type groupDecision struct {
	object *schedulingv1beta1.PodGroup
	// placed have got a node, failed are against others; the rest of the members was not tried.
	placed []placed
	failed map[*queue.Attempt]*plugins.Diagnosis
	// message is why the group cannot be placed; "": it is. untried is the reason against members that were not tried.
	message, untried string
	// err is why there is no decision; of is the member that it is about, if it is about one.
	err error
	of  *queue.Attempt
}

// decideGroup finds nodes for the pods of a popped group: for all at once, or, if there are not enough of
// them, for none.
func (s *Scheduler) decideGroup(ctx context.Context, a *queue.Attempt) {
	object, pods := s.groups.get(a.Group)
	if object == nil {
		s.queue.EndGroup(a, queue.Errored) // the queue keeps the pods until there is one
		return
	}
	s.skip(a)
	if len(a.Members) == 0 {
		s.queue.EndGroup(a, queue.Placed)
		return
	}
	s.snapshot = s.cache.UpdateSnapshot(s.snapshot)
	d := &groupDecision{object: object, failed: map[*queue.Attempt]*plugins.Diagnosis{}}
	scheduled := s.scheduled(pods)
	if d.err = checkGroup(object, slices.Concat(podsOf(a.Members), scheduled)); d.err == nil {
		s.try(ctx, a, d, len(scheduled))
	}
	if d.err == nil && d.message == "" {
		s.commit(d)
	}
	s.tasks.add(func(ctx context.Context) { s.endGroup(ctx, a, d) })
}

// skip removes the members that need no node: they are being deleted, or have one by now.
func (s *Scheduler) skip(a *queue.Attempt) {
	a.Members = slices.DeleteFunc(a.Members, func(m *queue.Attempt) bool {
		pod := m.Info.Pod
		switch {
		case s.cache.HasPod(pod.UID):
		case pod.DeletionTimestamp != nil:
			s.recorderOf(pod).Eventf(pod, corev1.EventTypeWarning, reasonFailed, "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		default:
			return false
		}
		s.queue.Done(m)
		return true
	})
}

func podsOf(members []*queue.Attempt) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(members))
	for i, m := range members {
		pods[i] = m.Info.Pod
	}
	return pods
}

// scheduled returns the pods that have a node.
func (s *Scheduler) scheduled(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !s.cache.HasPod(pod.UID) })
}

// try decides on one member after the other. Later members see the earlier ones on their nodes. If not
// enough of them get one, nothing is reserved for any of them. scheduled is the number of pods that have a node already.
func (s *Scheduler) try(ctx context.Context, a *queue.Attempt, d *groupDecision, scheduled int) {
	gang := plugins.Gang{Min: plugins.MinCount(d.object), Scheduled: scheduled, Remaining: len(a.Members)}
	if d.message = gang.Impossible(); d.message != "" {
		d.message = messageGroup + ", " + d.message
		d.untried = d.message
		return
	}
	t := trial{s: s}
	for _, m := range a.Members {
		in := s.inputOn(m)
		found := s.choose(ctx, m, in)
		s.start = found.Next
		gang.Remaining--
		switch {
		case found.Err != nil:
			d.err, d.of = found.Err, m
		case found.Node != "":
			d.placed = append(d.placed, t.add(m, in, found.Node))
			gang.Scheduled++
		default:
			s.failMember(m, d, in, found.Diagnosis)
		}
		if d.err != nil {
			break
		}
		if d.message = gang.Impossible(); d.message != "" {
			break
		}
	}
	t.leave(d.placed)
	if d.err == nil && d.message == "" && len(d.placed) == 0 {
		d.message = messageGroup // the pods that have a node are enough, but none of the others fits
	}
	if d.err == nil && d.message == "" {
		return
	}
	t.release()
	d.untried = d.message
	if d.err == nil {
		d.message += ", " + s.groupPostFilter(a)
	}
}

// failMember records that a member fits on no node.
func (s *Scheduler) failMember(m *queue.Attempt, d *groupDecision, in plugins.Input, diagnosis *plugins.Diagnosis) {
	m.ByRules, m.ByVolumes, m.ByResources = diagnosis.ByRules(), diagnosis.ByVolumes, diagnosis.ByResources()
	if in.Devices != nil && diagnosis.Nodes > 0 {
		m.ByDevices, m.OnlyDevices = diagnosis.ByDevices()
	}
	s.explain(m, in, "", diagnosis.Message(), nil)
	d.failed[m] = diagnosis
}

// groupPostFilter returns what kube-scheduler's PodGroupPostFilter says about preemption. Where that one would look for
// victims, it says that there is no such preemption here.
func (s *Scheduler) groupPostFilter(a *queue.Attempt) string {
	m := a.Members[0].Info
	switch {
	case !s.profileOf(m.Pod).Preempts():
		return ""
	case !m.MayPreempt():
		return "pod group preemption: not eligible due to preemptionPolicy=Never."
	case slices.ContainsFunc(s.snapshot.Nodes(), func(n *framework.NodeInfo) bool {
		return slices.ContainsFunc(n.Pods, func(o *framework.PodInfo) bool { return o.Priority < m.Priority })
	}):
		return "pod group preemption: minikcm preempts no pods for a pod group"
	}
	return "pod group preemption: No preemption victims found for incoming preemptor"
}

// commit puts the placed members on their nodes.
func (s *Scheduler) commit(d *groupDecision) {
	d.placed = slices.DeleteFunc(d.placed, func(p placed) (removed bool) {
		m, pod := p.attempt, p.attempt.Info.Pod
		switch {
		case !s.queue.Decided(m): // the pod has been removed
			s.volumes.forget(pod.UID)
			s.devices.end(pod.UID)
			return true
		case !s.cache.AssumePod(m.Info, p.node):
			s.queue.Done(m)
			return true
		}
		s.explain(m, p.in, p.node, "", nil)
		s.nominator.Remove(pod.UID)
		s.queue.Notify(framework.ClusterEvent{Added: m.Info})
		return false
	})
}

// bindGroup binds the placed members, one after the other: the order of their bindings follows from the decision.
func (s *Scheduler) bindGroup(ctx context.Context, d *groupDecision) {
	for _, p := range d.placed {
		s.bindPlaced(ctx, p)
	}
}

// errorOf returns the error that a member failed with.
func (d *groupDecision) errorOf(m *queue.Attempt) error {
	if d.of == nil || d.of == m {
		return d.err
	}
	return fmt.Errorf("failed to schedule other pod from a pod group: %w", d.err)
}
