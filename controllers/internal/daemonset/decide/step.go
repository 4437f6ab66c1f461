package decide

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// step is the state of one decision.
type step struct {
	d     *appsv1.DaemonSet
	revs  *revisions
	now   time.Time
	sites []*site
	// lost are pods that are not bound and are meant for nodes that do not exist.
	lost     []*corev1.Pod
	desired  int
	failures *Failures

	// create names the nodes that need a pod.
	create  []string
	remove  []*corev1.Pod
	events  []plan.Event
	soonest time.Duration
}

// site is a node with the pods that are on it or meant for it.
type site struct {
	name string
	// node is nil if the node of the pods does not exist.
	node      *corev1.Node
	run, stay bool
	// pods are sorted by bySeniority.
	pods []*corev1.Pod
}

func newStep(in Snapshot, pods []*corev1.Pod, revs *revisions, now time.Time) *step {
	s := &step{d: in.DaemonSet, revs: revs, now: now, sites: make([]*site, 0, len(in.Nodes))}
	where := placementOf(s.d)
	byName := make(map[string]*site, len(in.Nodes))
	for _, node := range in.Nodes {
		at := &site{name: node.Name, node: node}
		if at.run, at.stay = where.on(node); at.run {
			s.desired++
		}
		s.sites, byName[node.Name] = append(s.sites, at), at
	}
	for _, pod := range pods {
		name := nodeOf(pod)
		if name == "" || pod.DeletionTimestamp != nil && controllerref.Ended(pod) {
			continue
		}
		at := byName[name]
		if at == nil {
			at = &site{name: name}
			s.sites, byName[name] = append(s.sites, at), at
		}
		at.pods = append(at.pods, pod)
		if at.node == nil && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
			s.lost = append(s.lost, pod)
		}
	}
	slices.SortFunc(s.sites, func(a, b *site) int { return cmp.Compare(a.name, b.name) })
	for _, at := range s.sites {
		slices.SortFunc(at.pods, bySeniority)
	}
	return s
}

// bySeniority sorts bound pods before others, and then the oldest first.
func bySeniority(a, b *corev1.Pod) int {
	unbound := func(pod *corev1.Pod) int {
		if pod.Spec.NodeName == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(unbound(a), unbound(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// available reports whether the pod has been ready for minReadySeconds. If it will be,
// available requests a requeue at that time.
func (s *step) available(pod *corev1.Pod) bool {
	available, lacks := controllerref.Available(pod, s.d.Spec.MinReadySeconds, s.now)
	if lacks > 0 {
		s.again(lacks)
	}
	return available
}

// again requests a requeue after that time at the latest.
func (s *step) again(after time.Duration) {
	if s.soonest == 0 || after < s.soonest {
		s.soonest = after
	}
}

// actions returns the actions of the step. What exceeds a burst follows when the events of
// the first actions arrive.
func (s *step) actions() []plan.Action {
	var all []plan.Action
	if create := s.create[:min(len(s.create), burst)]; len(create) > 0 {
		action := plan.Action{
			Verb: plan.Create, SlowStart: true,
			Succeeded: &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created pod: ", Detail: true},
			Failed:    &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating: ", Detail: true},
		}
		for _, node := range create {
			action.Objects = append(action.Objects, newPod(s.d, s.revs.hash, node))
		}
		all = append(all, action)
	}
	for _, action := range plan.Each(plan.Delete, s.remove[:min(len(s.remove), burst)]) {
		action.Succeeded = &plan.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: ", Detail: true}
		action.Failed = &plan.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: ", Detail: true}
		all = append(all, action)
	}
	return all
}
