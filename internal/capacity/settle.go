package capacity

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"

	"minikcm.dev/minikcm/controllers"
)

// A fork has settled when nothing has changed for quiet, the longest back-off of the scheduler and a
// little more, and no controller or kubelet waits for a time at which it may change something. With
// autoscalers, whose decisions take the highest recommendation of their window, it is quietScaling.
const (
	quiet        = 15 * time.Second
	quietScaling = 5*time.Minute + 30*time.Second
)

// waiters are the controllers whose timers may change where pods run, or whether they do. Those of others
// change statuses only, such as the deadline of a Deployment, or repeat whatever happens.
var waiters = []string{
	controllers.ReplicaSet, controllers.StatefulSet, controllers.DaemonSet, controllers.Job, controllers.Disruption, controllers.PodGC,
	controllers.NodeLifecycle, controllers.TaintEviction, controllers.DeviceTaintEviction,
	controllers.VolumeAttachDetach, controllers.VolumeBinder, controllers.VolumeProvisioner, controllers.VolumeAttacher,
}

// inVain is the number of times in a row that a timer must come due without an effect before it counts as
// settled. Once is not enough: a controller that has seen heartbeats finds at first that the node's next one
// is not due yet, and waits for that.
const inVain = 2

// activity is a change that takes time in the fork.
type activity interface {
	// step does what is due. done is true if nothing more is to be done.
	step(ctx context.Context, now time.Time) (done bool, err error)
	// next returns when the next step is due after one at now.
	next(now time.Time) time.Time
}

// awaiter is an activity that may wait for something that is sure to come, such as a node to be Ready.
type awaiter interface{ awaits() bool }

// settling is one wait until a fork has settled. Only it moves the fork's time: the controllers, the scheduler
// and the kubelets act during Advance, and between two calls of it the fork stands still. A drain of the node of web-1, whose container
// takes 30 s to stop:
//
//	time      settling                                    the fork, during Advance
//	12:00:00  step: evicts web-1
//	          look: quiet at :15 at the soonest;
//	          Advance to :15                              :00 web-1 stops; web-2 is created and bound
//	                                                      :01 web-2 is ready: the last change
//	12:00:15  look: quiet at :16; Advance
//	12:00:16  look: quiet, but a kubelet waits
//	          for :30; Advance to :30                     :30 web-1 is deleted: the last change
//	12:00:30  look: quiet at :45; Advance
//	12:00:45  look: quiet, and nothing waits: settled
//
// A timer that comes due inVain times without a change, such as one that only checks something, is not waited for.
type settling struct {
	fork       *Fork
	begun, end time.Time
	activities []activity
	// pending are the timers of the last look, and vain counts how often each has come due since last, the
	// time of the last change, without changing anything.
	pending map[timerKey]time.Time
	vain    map[timerKey]int
	last    time.Time
	// now means that only the room counts that is there: pods that run to their end are not waited for.
	now bool
}

type timerKey struct{ part, key string }

// settle lets time pass until the activities are done, or wait in vain, and the fork has settled. It
// returns false if Options.For is over before.
func (f *Fork) settle(ctx context.Context, activities ...activity) (settled bool, err error) {
	return f.settling(activities).run(ctx)
}

func (f *Fork) settling(activities []activity) *settling {
	now := f.cluster.Clock().Now()
	f.watch.disturb(now)
	return &settling{
		fork: f, begun: now, end: now.Add(f.opts.For), activities: activities, last: now,
		pending: map[timerKey]time.Time{}, vain: map[timerKey]int{},
	}
}

func (s *settling) run(ctx context.Context) (settled bool, err error) {
	f := s.fork
	for {
		now := f.cluster.Clock().Now()
		if err := s.step(ctx, now); err != nil {
			return false, err
		}
		calm, next := s.look(now)
		switch {
		case calm:
			return true, nil
		case !now.Before(s.end):
			return false, nil
		}
		for _, a := range s.activities {
			next = earlier(next, a.next(now))
		}
		next = earlier(next, s.end)
		if err := f.cluster.Advance(ctx, max(next.Sub(now), time.Millisecond)); err != nil {
			return false, err
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// step makes the steps of the activities that are due, and drops those that are done.
func (s *settling) step(ctx context.Context, now time.Time) error {
	var left []activity
	for _, a := range s.activities {
		done, err := a.step(ctx, now)
		if err != nil {
			return err
		}
		if !done {
			left = append(left, a)
		}
	}
	s.activities = left
	return nil
}

// look reports whether nothing that waits for a time can change anything any more, and otherwise when to
// look again.
func (s *settling) look(now time.Time) (calm bool, next time.Time) {
	last := s.fork.watch.since()
	if !last.Equal(s.last) {
		s.last = last
		clear(s.vain)
	}
	for key, due := range s.pending {
		if !due.After(now) && last.Before(due) {
			s.vain[key]++
		}
	}
	calm, next = true, now.Add(5*time.Minute)
	if still := last.Add(s.fork.quiet()); now.Before(still) {
		calm, next = false, still
	}
	for _, a := range s.activities {
		if w, ok := a.(awaiter); ok && w.awaits() {
			calm = false
		}
	}
	s.pending = s.timers()
	for key, due := range s.pending {
		if s.vain[key] >= inVain || due.After(s.end) {
			continue
		}
		calm = false
		if due.After(now) {
			next = earlier(next, due)
		}
	}
	return calm, next
}

func (f *Fork) quiet() time.Duration {
	if f.opts.Autoscale {
		return quietScaling
	}
	return quiet
}

// timers returns the times that may change something.
func (s *settling) timers() map[timerKey]time.Time {
	pods := s.fork.watch.restless(s.fork.ailing(), s.waits())
	timers := map[timerKey]time.Time{}
	for _, t := range s.fork.cluster.Timers(waiters) {
		if s.concerns(&t, pods) {
			timers[timerKey{t.Part, t.Key}] = t.Due
		}
	}
	return timers
}

// concerns reports whether a timer may change something. Those of nodes that report are heartbeats.
func (s *settling) concerns(t *minikcm.Timer, restless func(types.UID) bool) bool {
	switch t.Part {
	case minikcm.TimerOfPod:
		return restless(types.UID(t.Key))
	case controllers.NodeLifecycle:
		node, ofNode := strings.CutPrefix(t.Key, "/")
		return !ofNode || !s.fork.cluster.Kubelets().Reachable(node)
	}
	return true
}

// waits reports whether something waits for other pods to go: then their ends matter, too.
func (s *settling) waits() bool {
	return !s.now && (len(s.activities) > 0 || s.fork.watch.pendsSince(s.begun))
}

// ailing returns the pods that go on to ail as in the cluster that was forked: their restarts change
// nothing.
func (f *Fork) ailing() map[types.NamespacedName]bool {
	ails := map[types.NamespacedName]bool{}
	for _, a := range f.cluster.Kubelets().Assumptions() {
		ails[a.Pod] = true
	}
	return ails
}

// restless returns which pods may change when their kubelets look at them again: those that start or are
// being deleted, but not those that ail. With ends, those that run may end.
func (w *watcher) restless(ails map[types.NamespacedName]bool, ends bool) func(types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	restless := map[types.UID]bool{}
	for uid, h := range w.pods {
		switch {
		case h.gone:
		case h.pod.DeletionTimestamp != nil:
			restless[uid] = true
		case ails[types.NamespacedName{Namespace: h.pod.Namespace, Name: h.pod.Name}]:
		case isReady(h.pod):
			restless[uid] = ends && h.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
		default:
			restless[uid] = true
		}
	}
	return func(uid types.UID) bool { return restless[uid] }
}

// pendsSince reports whether a pod that was created since a time waits for a node.
func (w *watcher) pendsSince(begun time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.pods {
		if !h.gone && !h.created.Before(begun) && h.pod.Spec.NodeName == "" && pending(h.pod) {
			return true
		}
	}
	return false
}

// unscheduled returns the scheduler's message about a pod without a node; empty: there is none.
func unscheduled(pod *corev1.Pod) string {
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
	if at < 0 {
		return ""
	}
	return pod.Status.Conditions[at].Message
}
