package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/controllers/internal/scheduler/extender"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/controllers/internal/scheduler/queue"
)

// extendersOf returns the extenders that are interested in a pod and for which does returns true.
func (s *Scheduler) extendersOf(pod *corev1.Pod, does func(*extender.Extender) bool) (asked []*extender.Extender) {
	for _, e := range s.config.Extenders {
		if does(e) && e.Interested(pod) {
			asked = append(asked, e)
		}
	}
	return asked
}

// choose decides on a popped pod. Extenders are asked between the two pure halves of the decision, on the
// deciding goroutine, as in kube-scheduler: the pod counts as in flight until they have answered.
func (s *Scheduler) choose(ctx context.Context, a *queue.Attempt, in plugins.Input) plugins.Decision {
	a.ByExtenders = false
	pod := in.Pod.Pod
	if len(s.extendersOf(pod, func(e *extender.Extender) bool { return e.Filters() || e.Prioritizes() })) == 0 {
		return plugins.Decide(in)
	}
	search := plugins.Filter(in)
	err := s.excludeNodes(ctx, pod, search)
	if search.Preferred() && (err != nil || len(search.Feasible()) == 0) {
		// The node that was freed for the pod is not its only chance.
		in.Prefer = ""
		if in.Trace != nil {
			*in.Trace = plugins.Trace{}
		}
		search = plugins.Filter(in)
		err = s.excludeNodes(ctx, pod, search)
	}
	a.ByExtenders = search.Extended()
	if err != nil {
		return search.Fail(err)
	}
	return search.Decide(s.extraScores(ctx, pod, search))
}

// excludeNodes asks one extender after another which of the feasible nodes are excluded. It returns the
// error of an extender that is not ignorable.
func (s *Scheduler) excludeNodes(ctx context.Context, pod *corev1.Pod, search *plugins.Search) error {
	for _, e := range s.extendersOf(pod, (*extender.Extender).Filters) {
		nodes := search.Feasible()
		if len(nodes) == 0 {
			return nil
		}
		excluded, err := e.Filter(ctx, pod, nodes)
		if err != nil {
			if !e.Ignorable() {
				return err
			}
			klog.FromContext(ctx).Info("Skipping an ignorable extender that failed", "extender", e.Name(), "pod", klog.KObj(pod), "err", err)
			continue
		}
		for _, x := range excluded {
			search.Exclude(x.Node, x.Reason, x.Final)
		}
	}
	return nil
}

// extraScores returns the scores that extenders add to the feasible nodes; nil: none. An extender that
// fails adds nothing.
func (s *Scheduler) extraScores(ctx context.Context, pod *corev1.Pod, search *plugins.Search) []int64 {
	nodes := search.Feasible()
	asked := s.extendersOf(pod, (*extender.Extender).Prioritizes)
	if len(nodes) <= 1 || len(asked) == 0 {
		return nil
	}
	extra := make([]int64, len(nodes))
	for _, e := range asked {
		if err := e.AddScores(ctx, pod, nodes, extra); err != nil {
			klog.FromContext(ctx).Info("Scoring without an extender that failed", "extender", e.Name(), "pod", klog.KObj(pod), "err", err)
		}
	}
	return extra
}

// findVictims looks for pods to preempt. Extenders may remove candidates and change victims.
func (s *Scheduler) findVictims(ctx context.Context, in plugins.Input, d *plugins.Diagnosis) plugins.Preemption {
	candidates, none := plugins.Candidates(in, d)
	if len(candidates) == 0 {
		return none
	}
	for _, e := range s.extendersOf(in.Pod.Pod, (*extender.Extender).Preempts) {
		left, err := e.Preempt(ctx, in.Pod.Pod, candidates, in.Snapshot)
		switch {
		case err != nil && e.Ignorable():
			klog.FromContext(ctx).Info("Skipping an ignorable extender that failed", "extender", e.Name(), "pod", klog.KObj(in.Pod.Pod), "err", err)
			continue
		case err != nil:
			return plugins.Preemption{Message: err.Error()}
		case len(left) == 0:
			return plugins.Preemption{Message: "no candidate node for preemption"}
		}
		candidates = left
	}
	if in.Trace != nil {
		in.Trace.Candidates = candidates
	}
	return plugins.Cheapest(candidates)
}

// bindByExtender lets an extender create the pod's Binding. bound is false if no extender does it.
func (s *Scheduler) bindByExtender(ctx context.Context, pod *corev1.Pod, node string) (bound bool, err error) {
	for _, e := range s.extendersOf(pod, (*extender.Extender).Binds) {
		err := e.Bind(ctx, pod, node)
		if err != nil && e.Ignorable() {
			klog.FromContext(ctx).Info("Skipping an ignorable extender that failed to bind", "extender", e.Name(), "pod", klog.KObj(pod), "err", err)
			continue
		}
		return true, err
	}
	return false, nil
}
