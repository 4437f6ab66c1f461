package deployment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/plan"
)

// rollbackTo is the revision that the annotation asks for, 0 for the last one; false
// if it asks for none. Clients of extensions/v1beta1 had a field for it, of which
// this is what is left.
func rollbackTo(d *appsv1.Deployment) (int64, bool) {
	revision, err := strconv.ParseInt(d.Annotations[rollbackToAnnotation], 10, 64)
	return revision, err == nil
}

// rollBack gives the Deployment the template of an earlier revision, and takes the
// annotation off in any case. The rollout is the next look's: nothing else happens
// to ReplicaSets meanwhile than that the new one gets its revision.
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

// restore puts the revision's template into the Deployment, if there is one that
// differs, and returns what is to be told.
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
	// The annotations go back too, the cause of the change above all; else the old
	// ReplicaSet would inherit those of the one that it replaces.
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

// lastRevision is the one before that of the template in force, or 0.
func (r *rollout) lastRevision() int64 {
	if len(r.old) == 0 {
		return 0
	}
	return revisionOf(slices.MaxFunc(r.old, func(a, b *set) int { return cmp.Compare(revisionOf(a), revisionOf(b)) }))
}

func refusal(reason, message string) *plan.Event {
	return &plan.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}
