package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// rollbackTo returns the revision that the annotation requests, 0 for the previous one;
// false if it requests none. The annotation replaces a field of extensions/v1beta1.
func rollbackTo(d *appsv1.Deployment) (int64, bool) {
	revision, err := strconv.ParseInt(d.Annotations[rollbackToAnnotation], 10, 64)
	return revision, err == nil
}

// rollBack restores the Deployment's template from an earlier revision, and removes the annotation
// in any case. The next reconcile starts the rollout. Until then, the only change to ReplicaSets is
// the revision of the new one.
func (r *rollout) rollBack(revision int64) {
	if r.new != nil {
		r.syncNew()
	}
	update := r.d.DeepCopy()
	delete(update.Annotations, rollbackToAnnotation)
	action := plan.One(plan.Update, update)
	action.Succeeded = r.restore(update, revision)
	r.cleanUps = append(r.cleanUps, action)
	r.revision, r.status = "", r.d.Status
}

// restore copies the template of the revision into the Deployment, if it exists and
// differs, and returns the event to record.
func (r *rollout) restore(update *appsv1.Deployment, revision int64) *plan.Event {
	if revision == 0 {
		if revision = r.lastRevision(); revision == 0 {
			return refusal("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
		}
	}
	all := r.all()
	i := slices.IndexFunc(all, func(s *set) bool { return revisionOf(s) == revision })
	switch {
	case i < 0:
		return refusal("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
	case sameTemplate(&all[i].Spec.Template, &r.d.Spec.Template):
		return refusal("DeploymentRollbackTemplateUnchanged", fmt.Sprintf("The rollback revision contains the same template as current deployment %q", r.d.Name))
	}
	template := all[i].Spec.Template.DeepCopy()
	template.Labels = withoutHash(template.Labels)
	update.Spec.Template = *template
	// The annotations are restored too, above all the change cause. Otherwise the old
	// ReplicaSet would inherit the annotations of the one that it replaces.
	for key := range r.d.Annotations {
		if !notCopied(key) {
			delete(update.Annotations, key)
		}
	}
	for key, value := range all[i].annotations {
		if !notCopied(key) {
			update.Annotations[key] = value
		}
	}
	return &plan.Event{
		Type: corev1.EventTypeNormal, Reason: "DeploymentRollback",
		Message: fmt.Sprintf("Rolled back deployment %q to revision %d", r.d.Name, revision),
	}
}

// lastRevision returns the revision before the current template's, or 0.
func (r *rollout) lastRevision() int64 {
	if len(r.old) == 0 {
		return 0
	}
	return revisionOf(slices.MaxFunc(r.old, func(a, b *set) int { return cmp.Compare(revisionOf(a), revisionOf(b)) }))
}

func refusal(reason, message string) *plan.Event {
	return &plan.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}
