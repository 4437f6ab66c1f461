package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/history"
	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// revisions are the DaemonSet's history and the hash of the template in force.
type revisions struct {
	d *appsv1.DaemonSet
	// past is without the one in force.
	past    []*appsv1.ControllerRevision
	hash    string
	actions []plan.Action
}

func revise(d *appsv1.DaemonSet, known []*appsv1.ControllerRevision) (*revisions, error) {
	data, err := history.Data(&d.Spec.Template)
	if err != nil {
		return nil, err
	}
	sorted := history.Sorted(known)
	wanted := history.Newborn{
		Owner: d, OwnerKind: Kind, Data: data, Labels: d.Spec.Template.Labels,
		HashLabel: appsv1.DefaultDaemonSetUniqueLabelKey, Hash: owned.TemplateHash(&d.Spec.Template, d.Status.CollisionCount),
	}.Revision()
	r := &revisions{d: d}
	var current *appsv1.ControllerRevision
	current, r.actions = history.Advance(sorted, wanted)
	r.hash = hashOf(current)
	for _, revision := range sorted {
		if revision.Name != current.Name {
			r.past = append(r.past, revision)
		}
	}
	return r, nil
}

func hashOf(revision *appsv1.ControllerRevision) string {
	return revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
}

// surplus deletes old revisions of which there are no pods, beyond the history's limit.
func (r *revisions) surplus(pods []*corev1.Pod) []plan.Action {
	live := map[string]bool{}
	for _, pod := range pods {
		live[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	return history.Surplus(r.past, r.d.Spec.RevisionHistoryLimit, func(revision *appsv1.ControllerRevision) bool {
		return live[hashOf(revision)]
	})
}

// updated reports whether the pod is of the template in force.
func (r *revisions) updated(pod *corev1.Pod) bool {
	if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.hash {
		return true
	}
	generation, ok := generationOf(r.d)
	return ok && pod.Labels[generationLabel] == generation
}
