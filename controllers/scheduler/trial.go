package scheduler

import (
	"minikcm.dev/minikcm/controllers/scheduler/framework"
	"minikcm.dev/minikcm/controllers/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/scheduler/queue"
)

// trial is the placement of a group's pods while it is being searched. Pods that have got a node are on it in the
// snapshot alone, which belongs to the deciding goroutine: neither hints nor other decisions see them, so that a
// group that does not fit changes nothing and wakes no other.
type trial struct {
	s *Scheduler
	// undo takes back the changes, the last one first.
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

// add puts a pod on a node, with the devices and the volumes that the decision has chosen.
func (t *trial) add(a *queue.Attempt, in plugins.Input, node string) placed {
	s, pod := t.s, a.Info.Pod
	was := s.snapshot.Get(node)
	p := placed{attempt: a, in: in, node: node}
	if in.Volumes != nil && in.Profile.BindsVolumes() {
		if plan := in.Volumes.PlanFor(was.Node); !plan.Empty() {
			p.volumes = s.volumes.reserve(a, node, plan)
			t.undo = append(t.undo, func() { s.volumes.forget(pod.UID) })
		}
	}
	if in.Devices != nil {
		s.devices.reserve(pod.UID, in.Devices.On(node))
		t.undo = append(t.undo, func() { s.devices.end(pod.UID) })
	}
	s.snapshot.Set(was.With(a.Info))
	s.snapshot.Count([]framework.PodChange{{Node: node, Pod: a.Info, Sign: 1}})
	return p
}

// leave takes the pods off their nodes in the snapshot, the last one first, and keeps what is reserved for them.
func (t *trial) leave(pods []placed) {
	snapshot := t.s.snapshot
	for i := len(pods) - 1; i >= 0; i-- {
		p := pods[i]
		snapshot.Set(snapshot.Get(p.node).Without(p.attempt.Info))
		snapshot.Count([]framework.PodChange{{Node: p.node, Pod: p.attempt.Info, Sign: -1}})
	}
}

// release frees what is reserved for the pods.
func (t *trial) release() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
	t.undo = nil
}
