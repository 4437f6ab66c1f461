package decide

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// update deletes pods of other revisions, the highest ordinal first and none below the
// partition, as long as no more than maxUnavailable are unavailable (KEP-961). With
// parallel pod management, pods that are unavailable already do not count: otherwise a
// template that never gets ready could not be replaced.
func (s *step) update() {
	if s.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return
	}
	budget := maxUnavailable(s.set)
	for _, r := range s.replicas {
		if !s.available(r.pod) {
			budget--
		}
	}
	var outdated []*corev1.Pod
	for _, r := range slices.Backward(s.replicas) {
		if r.ordinal >= start(s.set)+partition(s.set) && r.pod != nil && r.pod.DeletionTimestamp == nil && !s.revs.updated(r.pod) {
			outdated = append(outdated, r.pod)
		}
	}
	for _, pod := range outdated {
		if !s.ordered && !s.available(pod) {
			s.deaths = append(s.deaths, pod)
		}
	}
	for _, pod := range outdated {
		if budget > 0 && s.available(pod) {
			s.deaths = append(s.deaths, pod)
			budget--
		}
	}
}

// maxUnavailable resolves a percentage of the replicas. It rounds down, but to no less than
// one.
func maxUnavailable(set *appsv1.StatefulSet) int {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, replicas(set), false)
	if err != nil {
		return 1 // validation ensures that it is a number or a percentage
	}
	return max(n, 1)
}
