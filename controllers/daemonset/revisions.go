package daemonset

import (
	"bytes"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/history"
	"minikcm.dev/minikcm/controllers/owned"
	"minikcm.dev/minikcm/controllers/plan"
)

// revisions are the DaemonSet's history and the hash of the template in force.
type revisions struct {
	d *appsv1.DaemonSet
	// past holds other templates than the one in force.
	past []*appsv1.ControllerRevision
	// twins hold the template in force, as current does.
	twins   []*appsv1.ControllerRevision
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
		switch {
		case revision.Name == current.Name:
		case bytes.Equal(revision.Data.Raw, current.Data.Raw):
			r.twins = append(r.twins, revision)
		default:
			r.past = append(r.past, revision)
		}
	}
	return r, nil
}

// hashOf returns the hash by which the revision's pods know it. One without has its
// name in place of it, as upstream's.
func hashOf(revision *appsv1.ControllerRevision) string {
	if hash, ok := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; ok {
		return hash
	}
	return revision.Name
}

// merge makes one revision of all that hold the template in force, as there are when
// one is adopted: their pods get the label of the newest, and only then the others
// go, so that no pod is of a revision that there is not. Upstream gives the label to
// the pods of other templates too, which makes an update pass them by.
func (r *revisions) merge(pods []*corev1.Pod) []plan.Action {
	if len(r.twins) == 0 {
		return nil
	}
	var relabelled []*corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != r.hash && r.ofTwin(pod) {
			pod = pod.DeepCopy()
			pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = r.hash
			relabelled = append(relabelled, pod)
		}
	}
	return append(plan.Each(plan.Update, relabelled), plan.Each(plan.Delete, r.twins)...)
}

func (r *revisions) ofTwin(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.twins, func(twin *appsv1.ControllerRevision) bool {
		return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hashOf(twin)
	})
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
	if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.hash || r.ofTwin(pod) {
		return true
	}
	generation, ok := generationOf(r.d)
	return ok && pod.Labels[generationLabel] == generation
}
