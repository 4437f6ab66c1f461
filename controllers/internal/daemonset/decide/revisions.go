package decide

import (
	"bytes"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/history"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// revisions are the DaemonSet's history and the hash of the current template.
type revisions struct {
	d *appsv1.DaemonSet
	// past holds the revisions of other templates than the current one.
	past []*appsv1.ControllerRevision
	// twins are further revisions of the current template.
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
		HashLabel: appsv1.DefaultDaemonSetUniqueLabelKey, Hash: controllerref.TemplateHash(&d.Spec.Template, d.Status.CollisionCount),
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

// hashOf returns the hash that the revision's pods have as a label. For a revision without
// the label it returns the name, as upstream does.
func hashOf(revision *appsv1.ControllerRevision) string {
	if hash, ok := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; ok {
		return hash
	}
	return revision.Name
}

// merge merges the revisions of the current template; there are several when one is
// adopted. It first relabels their pods with the hash of the newest, and only then deletes
// the others, so that no pod refers to a missing revision. Upstream also relabels the pods
// of other templates, which makes an update skip them.
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
	return append(plan.Each(plan.Relabel, relabelled), plan.Each(plan.Delete, r.twins)...)
}

func (r *revisions) ofTwin(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.twins, func(twin *appsv1.ControllerRevision) bool {
		return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hashOf(twin)
	})
}

// surplus deletes old revisions without pods, beyond the history limit.
func (r *revisions) surplus(pods []*corev1.Pod) []plan.Action {
	live := map[string]bool{}
	for _, pod := range pods {
		live[pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	return history.Surplus(r.past, r.d.Spec.RevisionHistoryLimit, func(revision *appsv1.ControllerRevision) bool {
		return live[hashOf(revision)]
	})
}

// updated reports whether the pod has the current template.
func (r *revisions) updated(pod *corev1.Pod) bool {
	if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.hash || r.ofTwin(pod) {
		return true
	}
	generation, ok := generationOf(r.d)
	return ok && pod.Labels[generationLabel] == generation
}
