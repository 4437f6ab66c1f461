package scheduler

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
)

// messageGroup is the reason against a pod that is not placed because its group is not.
const messageGroup = "pod group is unschedulable"

// groupDecision is the decision on the pods of a group.
type groupDecision struct {
	object *schedulingv1beta1.PodGroup
	// placed have got a node, failed are against others; the rest of the members was not tried.
	placed []placed
	failed map[*queue.Attempt]failure
	// message is why the group cannot be placed; "": it is. untried is the reason against members that were not tried.
	message, untried string
	// err is why there is no decision; of is the member that it is about, if it is about one.
	err error
	of  *queue.Attempt
	// preemption is the preemption that makes room for the group; nil: it waits for none.
	preemption *groupPreemption
}

// failure is why a member fits on no node.
type failure struct {
	in        plugins.Input
	diagnosis *plugins.Diagnosis
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
	d := newGroupDecision(object)
	scheduled := s.scheduled(pods)
	if d.err = checkGroup(object, slices.Concat(podsOf(a.Members), scheduled)); d.err == nil {
		s.try(ctx, a, d, len(scheduled))
	}
	if d.err == nil && d.message == "" {
		s.commit(d)
	} else {
		s.nominateGroup(a, d)
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

func newGroupDecision(object *schedulingv1beta1.PodGroup) *groupDecision {
	return &groupDecision{object: object, failed: map[*queue.Attempt]failure{}}
}

// try decides on the members and, if not enough of them fit, looks for pods to preempt. scheduled is the number of pods that have
// a node already.
func (s *Scheduler) try(ctx context.Context, a *queue.Attempt, d *groupDecision, scheduled int) {
	if t := s.place(ctx, a, d, scheduled); d.err != nil || d.message != "" {
		t.release()
	}
	for _, m := range a.Members {
		if f, ok := d.failed[m]; ok {
			keepReasons(m, f)
		}
	}
	if d.err == nil && d.message != "" {
		d.untried = d.message
		d.message += ", " + s.groupPostFilter(ctx, a, d, scheduled)
		s.explainGroup(a, d)
	}
}

// place decides on one member after the other. Later members see the earlier ones on their nodes. The snapshot is as
// before when it returns; the caller must release the reservations for the members, unless the group is placed.
func (s *Scheduler) place(ctx context.Context, a *queue.Attempt, d *groupDecision, scheduled int) *trial {
	t := s.newTrial()
	gang := plugins.Gang{Min: plugins.MinCount(d.object), Scheduled: scheduled, Remaining: len(a.Members)}
	if d.message = gang.Impossible(); d.message != "" {
		d.message = messageGroup + ", " + d.message
		return t
	}
	for _, m := range a.Members {
		in := t.inputOn(m)
		found := s.choose(ctx, m, in)
		s.start = found.Next
		gang.Remaining--
		switch {
		case found.Err != nil:
			d.err, d.of = found.Err, m
		case found.Node != "":
			t.add(m, in, found.Node)
			gang.Scheduled++
		default:
			d.failed[m] = failure{in, found.Diagnosis}
		}
		if d.err != nil {
			break
		}
		if d.message = gang.Impossible(); d.message != "" {
			break
		}
	}
	t.leave()
	d.placed = t.placed
	if d.err == nil && d.message == "" && len(d.placed) == 0 {
		d.message = messageGroup // the pods that have a node are enough, but none of the others fits
	}
	return t
}

// keepReasons records the facts that the hint needs about a member that fits on no node.
func keepReasons(m *queue.Attempt, f failure) {
	d := f.diagnosis
	m.ByRules, m.ByVolumes, m.ByResources = d.ByRules(), d.ByVolumes, d.ByResources()
	if f.in.Devices != nil && d.Nodes > 0 {
		m.ByDevices, m.OnlyDevices = d.ByDevices()
	}
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
		s.explain(m, p.in, explain.Result{Node: p.node})
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
