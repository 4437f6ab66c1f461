package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/podset"
)

// Pods summarizes an owner's pods for a decision.
type Pods struct {
	// Counts counts the pods that the owner controls and selects, and the pods in Adopt.
	Counts Counts
	// Adopt are the orphans that the owner has yet to adopt. Release are the pods that it
	// controls but does not select. Both are sorted by name.
	Adopt, Release []*corev1.Pod
	// Ripens is when the next ready pod becomes available; zero if none does by waiting.
	Ripens time.Time
}

// Survey returns the same as an Account, from all pods at once: the pods that the owner controls,
// and the pods without a controller. active are the active pods. It is the definition
// that accounts are compared with.
func Survey(rs *appsv1.ReplicaSet, candidates []*corev1.Pod, now time.Time) (found Pods, active []*corev1.Pod, err error) {
	t, err := newTerms(rs)
	if err != nil {
		return found, nil, err
	}
	claims := controllerref.Claim(rs, t.selector, candidates)
	found.Adopt, found.Release = claims.Adopt, claims.Release
	for _, pod := range claims.Owned {
		found.count(t, pod, now)
		if controllerref.Active(pod) {
			active = append(active, pod)
		}
	}
	podset.SortByName(found.Adopt)
	podset.SortByName(found.Release)
	podset.SortByName(active)
	return found, active, nil
}

// count counts a pod.
func (p *Pods) count(t *terms, pod *corev1.Pod, now time.Time) {
	s, due := t.judge(pod)
	switch {
	case due.IsZero():
	case !due.After(now):
		s |= available
	case p.Ripens.IsZero() || due.Before(p.Ripens):
		p.Ripens = due
	}
	p.Counts.add(s, 1)
}
