package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roll takes the next step of a rolling update.
func (s *step) roll() {
	switch {
	case s.d.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType:
	case s.surge() > 0:
		s.rollSurging()
	default:
		s.rollDeleting()
	}
}

// rollDeleting deletes old pods, which manage replaces, as long as no more than
// maxUnavailable nodes are without an available pod. Old pods that are not available are
// always deleted.
func (s *step) rollDeleting() {
	budget := s.unavailable()
	var candidates []*corev1.Pod
	for _, at := range s.sites {
		if len(at.pods) == 0 && !at.run {
			continue
		}
		young, old, ok := s.generations(at)
		switch {
		case !ok || (young == nil) == (old == nil):
			budget-- // the site has no pod, or manage has work to do on it
		case young != nil:
			if !s.available(young) {
				budget--
			}
		case !s.available(old):
			s.remove = append(s.remove, old)
			budget--
		default:
			candidates = append(candidates, old)
		}
	}
	s.remove = append(s.remove, candidates[:max(0, min(budget, len(candidates)))]...)
}

// rollSurging creates new pods beside old ones, on no more than maxSurge nodes whose old
// pod is available, and deletes an old one when its successor is available. On nodes that
// should no longer have a pod, old ones stay until all nodes that should have one do.
func (s *step) rollSurging() {
	budget, available := s.surge(), 0
	var candidates []string
	var leaving []*corev1.Pod
	for _, at := range s.sites {
		young, old, ok := s.generations(at)
		if !ok {
			budget--
			continue
		}
		if old != nil && s.available(old) || old == nil && young != nil && s.available(young) {
			available++
		}
		switch {
		case old == nil:
		case young != nil && s.available(young):
			s.remove = append(s.remove, old)
		case young != nil:
			budget--
		case !at.run && !s.available(old):
			s.remove = append(s.remove, old)
		case !at.run:
			leaving = append(leaving, old)
		case !s.available(old):
			s.create = append(s.create, at.name)
		default:
			candidates = append(candidates, at.name)
		}
	}
	s.remove = append(s.remove, leaving[:max(0, min(available-s.desired, len(leaving)))]...)
	s.create = append(s.create, candidates[:max(0, min(budget, len(candidates)))]...)
}

// generations returns the site's new and old pod. ok is false if it has several of either.
func (s *step) generations(at *site) (young, old *corev1.Pod, ok bool) {
	for _, pod := range at.pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		which := &old
		if s.revs.updated(pod) {
			which = &young
		}
		if *which != nil {
			return nil, nil, false
		}
		*which = pod
	}
	return young, old, true
}

func (s *step) rolling() *appsv1.RollingUpdateDaemonSet {
	if s.d.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return nil
	}
	return s.d.Spec.UpdateStrategy.RollingUpdate
}

// surge resolves maxSurge. It rounds a percentage of the nodes up.
func (s *step) surge() int {
	if rolling := s.rolling(); rolling != nil {
		return resolve(rolling.MaxSurge, s.desired)
	}
	return 0
}

// surges reports whether a node may have two pods, independent of the number of nodes.
func (s *step) surges() bool {
	rolling := s.rolling()
	return rolling != nil && resolve(rolling.MaxSurge, 1) > 0
}

// unavailable resolves maxUnavailable likewise. It returns at least 1, because an update
// could not proceed with 0.
func (s *step) unavailable() int {
	if rolling := s.rolling(); rolling != nil {
		return max(1, resolve(rolling.MaxUnavailable, s.desired))
	}
	return 1
}

func resolve(value *intstr.IntOrString, total int) int {
	if value == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, total, true)
	if err != nil {
		return 0 // validation ensures that it is a number or a percentage
	}
	return n
}
