package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/history"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// hashLabel is the label of a revision; the label of the pods holds the revision's name.
const hashLabel = "controller.kubernetes.io/hash"

// revisions are the two revisions between which an update takes place. They are equal if
// there is no update.
type revisions struct {
	set             *appsv1.StatefulSet
	sorted          []*appsv1.ControllerRevision
	current, update *appsv1.ControllerRevision
	// currentTemplate is the template in current.
	currentTemplate *corev1.PodTemplateSpec
	actions         []plan.Action
}

func revise(set *appsv1.StatefulSet, known []*appsv1.ControllerRevision) (*revisions, error) {
	data, err := history.Data(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	collisions := int32(0)
	if set.Status.CollisionCount != nil {
		collisions = *set.Status.CollisionCount
	}
	wanted := history.Newborn{
		Owner: set, OwnerKind: Kind, Data: data, Labels: set.Spec.Template.Labels,
		HashLabel: hashLabel, Hash: history.Hash(data, collisions),
	}.Revision()
	r := &revisions{set: set, sorted: history.Sorted(known), currentTemplate: &set.Spec.Template}
	r.update, r.actions = history.Advance(r.sorted, wanted)
	r.current = r.update
	for _, revision := range r.sorted {
		if revision.Name != set.Status.CurrentRevision || revision.Name == r.update.Name {
			continue
		}
		r.current = revision
		if r.currentTemplate, err = history.Template(revision); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// surplus deletes revisions that are neither current nor in use, beyond the history limit.
func (r *revisions) surplus(pods []*corev1.Pod) []plan.Action {
	live := map[string]bool{r.current.Name: true, r.update.Name: true}
	for _, pod := range pods {
		live[revisionOf(pod)] = true
	}
	var past []*appsv1.ControllerRevision
	for _, revision := range r.sorted {
		if !live[revision.Name] {
			past = append(past, revision)
		}
	}
	return history.Surplus(past, r.set.Spec.RevisionHistoryLimit, func(*appsv1.ControllerRevision) bool { return false })
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

func (r *revisions) updated(pod *corev1.Pod) bool { return revisionOf(pod) == r.update.Name }

// forOrdinal returns the revision for a new pod, and its template: below the partition the
// current one, until the update has passed the ordinal.
func (r *revisions) forOrdinal(ordinal int) (string, *corev1.PodTemplateSpec) {
	strategy := &r.set.Spec.UpdateStrategy
	if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		still := int(r.set.Status.CurrentReplicas)
		if strategy.RollingUpdate != nil {
			still = partition(r.set)
		}
		if ordinal < start(r.set)+still {
			return r.current.Name, r.currentTemplate
		}
	}
	return r.update.Name, &r.set.Spec.Template
}

// partition returns the number of ordinals, counted from the first, that an update does not
// change.
func partition(set *appsv1.StatefulSet) int {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		return int(*rolling.Partition)
	}
	return 0
}
