package scheduler

import (
	"maps"
	"slices"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
)

// trial is the placement of a group's pods while it is being searched. Pods that have got a node are on it in the
// snapshot alone, which belongs to the deciding goroutine: neither hints nor other decisions see them, so that a
// group that does not fit changes nothing and wakes no other.
type trial struct {
	s      *Scheduler
	whatIf *framework.WhatIf
	placed []placed
	// undo has the functions that free the reservations, to be called in reverse order.
	undo []func()
}

// placed is a pod for which a decision or a trial has found a node.
type placed struct {
	attempt *queue.Attempt
	in      plugins.Input
	node    string
	// volumes is set if volumes must be bound for the pod.
	volumes *volumeWait
}

func (s *Scheduler) newTrial() *trial { return &trial{s: s, whatIf: s.snapshot.WhatIf()} }

// inputOn is Scheduler.inputOn with the pods that have got a node: they are not nominated any more.
func (t *trial) inputOn(a *queue.Attempt) plugins.Input {
	in := t.s.inputOn(a)
	cloned := false
	for i := range t.placed {
		node, uid := t.placed[i].attempt.Nominated, t.placed[i].attempt.Info.Pod.UID
		is := func(o *framework.PodInfo) bool { return o.Pod.UID == uid }
		if !slices.ContainsFunc(in.Nominated[node], is) {
			continue
		}
		if !cloned {
			cloned, in.Nominated = true, maps.Clone(in.Nominated)
		}
		in.Nominated[node] = slices.DeleteFunc(slices.Clone(in.Nominated[node]), is)
	}
	return in
}

// add puts a pod on a node, with the devices and the volumes that the decision has chosen.
func (t *trial) add(a *queue.Attempt, in plugins.Input, node string) {
	s, pod := t.s, a.Info.Pod
	p := placed{attempt: a, in: in, node: node}
	if in.Volumes != nil && in.Profile.BindsVolumes() {
		if plan := in.Volumes.PlanFor(s.snapshot.Get(node).Node); !plan.Empty() {
			p.volumes = s.volumes.reserve(a, node, plan)
			t.undo = append(t.undo, func() { s.volumes.forget(pod.UID) })
		}
	}
	if in.Devices != nil {
		s.devices.reserve(pod.UID, in.Devices.On(node))
		t.undo = append(t.undo, func() { s.devices.end(pod.UID) })
	}
	if index, ok := s.snapshot.Index(node); ok {
		t.whatIf.Add(index, a.Info)
	}
	t.placed = append(t.placed, p)
}

// leave takes the pods off their nodes in the snapshot, and keeps the reservations for them.
func (t *trial) leave() { t.whatIf.Undo() }

// release frees the reservations for the pods.
func (t *trial) release() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.undo = nil
}
