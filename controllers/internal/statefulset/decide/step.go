package decide

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// step is the state of one decision. With ordered pods it ends at the first pod that has to
// be waited for; else it does everything that is possible.
type step struct {
	in   Snapshot
	set  *appsv1.StatefulSet
	revs *revisions
	now  time.Time
	// ordered is true if the pod management policy is OrderedReady.
	ordered bool
	// replicas has the ordinals of the set's range that no plain pod has; condemned are the pods
	// beyond the range, the highest ordinal first.
	replicas  []replica
	condemned []*corev1.Pod
	// taken are the names of all pods, owned or not.
	taken map[string]bool

	claims, births, marked, deaths []plan.Object
	retained                       []retention
	events                         []plan.Event
}

// replica is an ordinal and its pod, which is nil if it is missing.
type replica struct {
	ordinal int
	pod     *corev1.Pod
}

func newStep(in Snapshot, pods []*corev1.Pod, revs *revisions, now time.Time) *step {
	s := &step{
		in: in, set: in.Set, revs: revs, now: now,
		ordered: in.Set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		taken:   make(map[string]bool, len(in.Pods)),
	}
	for _, pod := range in.Pods {
		s.taken[pod.Name] = true
	}
	known := make(map[int]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if ordinal, _ := member(s.set, pod); inRange(s.set, ordinal) {
			known[ordinal] = pod
		} else {
			s.condemned = append(s.condemned, pod)
		}
	}
	for _, ordinal := range s.ordinals() {
		s.replicas = append(s.replicas, replica{ordinal, known[ordinal]})
	}
	slices.SortFunc(s.condemned, func(a, b *corev1.Pod) int {
		x, _ := member(s.set, a)
		y, _ := member(s.set, b)
		return y - x
	})
	return s
}

// ordinals returns the ordinals of the set's range that no plain pod has.
func (s *step) ordinals() []int {
	if s.in.Plain.Count > 0 {
		return s.in.Plain.Others
	}
	all := make([]int, replicas(s.set))
	for i := range all {
		all[i] = start(s.set) + i
	}
	return all
}

// take decides: it first creates all pods, then deletes surplus ones, and only then
// replaces others.
func (s *step) take() {
	proceed := true
	for _, r := range s.replicas {
		if !s.keep(r.ordinal, r.pod) {
			proceed = false
			if s.ordered {
				return
			}
		}
	}
	for _, pod := range s.condemned {
		s.retain(pod, retention{})
	}
	if !proceed {
		return
	}
	for _, pod := range s.condemned {
		if !s.condemn(pod) {
			return
		}
	}
	s.update()
}

// keep ensures that there is a pod of the ordinal. It reports whether the step may proceed;
// with ordered pods, only if this pod is available.
func (s *step) keep(ordinal int, pod *corev1.Pod) bool {
	switch {
	case pod == nil:
		return s.create(ordinal) && !s.ordered
	case controllerref.Ended(pod) && pod.DeletionTimestamp == nil:
		s.deaths = append(s.deaths, pod) // when it is gone, keep creates a new one
		return false
	}
	pending := pod.Status.Phase == corev1.PodPending
	if pending {
		s.claim(ordinal)
		s.retain(pod, retention{fresh: true, failure: true})
	}
	if s.ordered && !s.available(pod) {
		return false
	}
	if !pending {
		s.retain(pod, retention{success: identified(pod), failure: true})
	}
	if !identified(pod) {
		marked := pod.DeepCopy()
		identify(marked, ordinal)
		s.marked = append(s.marked, marked)
	}
	return true
}

// create creates the ordinal's pod, unless it has to wait until a claim is gone, or an
// orphan that has its name and cannot be adopted.
func (s *step) create(ordinal int) bool {
	if !s.claim(ordinal) {
		s.reportClaims(ordinal)
		return false
	}
	if s.taken[podName(s.set, ordinal)] {
		return false
	}
	pod := newPod(s.revs, ordinal)
	s.births = append(s.births, pod)
	s.retain(pod, retention{fresh: true, failure: true})
	return true
}

// claim creates the ordinal's missing claims. It reports whether a new pod could use its
// claims.
func (s *step) claim(ordinal int) bool {
	usable := true
	for i := range s.set.Spec.VolumeClaimTemplates {
		template := &s.set.Spec.VolumeClaimTemplates[i]
		claim := s.in.Claim(claimName(s.set, template, ordinal))
		switch {
		case claim == nil:
			s.claims = append(s.claims, newClaim(s.set, template, ordinal))
		case stale(claim, podName(s.set, ordinal)):
			usable = false
		}
	}
	return usable
}

// condemn deletes a surplus pod, and reports whether the next one may go too. Ordered pods
// are deleted one at a time, and an unavailable one only if it is firstUnhealthy.
func (s *step) condemn(pod *corev1.Pod) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return !s.ordered
	case s.ordered && !s.available(pod) && pod != s.firstUnhealthy():
		return false
	}
	s.deaths = append(s.deaths, pod)
	return !s.ordered
}

// firstUnhealthy returns the unavailable condemned pod of the lowest ordinal. When it is
// called, all replicas are available.
func (s *step) firstUnhealthy() *corev1.Pod {
	for _, pod := range slices.Backward(s.condemned) {
		if !s.available(pod) {
			return pod
		}
	}
	return nil
}

// available reports whether the pod exists, is not being deleted and has been ready for
// minReadySeconds.
func (s *step) available(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil || !running(pod) {
		return false
	}
	available, _ := controllerref.Available(pod, s.set.Spec.MinReadySeconds, s.now)
	return available
}

// actions returns the actions of the step. Claims precede the pods that need them, and
// changes of claims' owners precede the deletion of those owners.
func (s *step) actions() []plan.Action {
	var all []plan.Action
	add := func(verb plan.Verb, objects []plan.Object, slow bool, succeeded, failed *plan.Event) {
		if len(objects) > 0 {
			all = append(all, plan.Action{Verb: verb, Objects: objects, SlowStart: slow, Succeeded: succeeded, Failed: failed})
		}
	}
	for _, o := range s.claims {
		succeeded, failed := s.claimEvents(o.GetName())
		add(plan.Create, []plan.Object{o}, false, succeeded, failed)
	}
	for _, r := range s.retained {
		for i, claim := range r.claims {
			succeeded, failed := s.retentionEvents(r, claim)
			if i < len(r.claims)-1 {
				succeeded = nil // one event for all claims of a pod
			}
			add(plan.Update, []plan.Object{claim}, false, succeeded, failed)
		}
	}
	succeeded, failed := s.podEvents("Create")
	add(plan.Create, s.births, true, succeeded, failed)
	succeeded, failed = s.podEvents("Update")
	add(plan.Update, s.marked, false, succeeded, failed)
	succeeded, failed = s.podEvents("Delete")
	add(plan.Delete, s.deaths, false, succeeded, failed)
	return all
}
