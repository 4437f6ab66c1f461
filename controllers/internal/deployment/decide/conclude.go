package decide

import (
	"errors"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Conclude returns the Deployment to write after the plan's actions, or nil if there is
// nothing to write. If the actions failed, the counts of the plan are wrong: Conclude then
// only records a ReplicaSet that could not be created.
func Conclude(d *appsv1.Deployment, p Plan, actErr error, now time.Time) *appsv1.Deployment {
	if actErr == nil {
		return with(d, *p.Status)
	}
	var failed *plan.ActionError
	if !errors.As(actErr, &failed) || failed.Verb != plan.Create || plan.NamespaceGoing(actErr) || !hasDeadline(d) {
		return nil
	}
	status := d.Status
	status.Conditions = withCondition(status.Conditions, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: failedCreateReason,
		Message: fmt.Sprintf("Failed to create new replica set %q: %s", failed.Object.GetName(), plan.Message(actErr)),
	}, now)
	return with(d, Outcome{Status: status})
}

// TakenName returns the ReplicaSet whose creation failed because its name is in use, or nil
// if the error is a different one.
func TakenName(actErr error) *appsv1.ReplicaSet {
	var failed *plan.ActionError
	if !apierrors.IsAlreadyExists(actErr) || !errors.As(actErr, &failed) {
		return nil
	}
	rs, _ := failed.Object.(*appsv1.ReplicaSet)
	return rs
}

// Collided returns the Deployment to write when the name of its wanted ReplicaSet is in
// use: with a higher collision count, which leads to another name. It returns nil if live
// is the wanted ReplicaSet itself, which the cache did not show yet.
func Collided(d *appsv1.Deployment, wanted, live *appsv1.ReplicaSet) *appsv1.Deployment {
	for _, ref := range live.OwnerReferences {
		if ref.UID == d.UID && ref.Controller != nil && *ref.Controller && sameTemplate(&live.Spec.Template, &wanted.Spec.Template) {
			return nil
		}
	}
	status := d.Status
	count := int32(1)
	if status.CollisionCount != nil {
		count += *status.CollisionCount
	}
	status.CollisionCount = &count
	return with(d, Outcome{Status: status})
}

// with returns a copy of the Deployment that has the outcome, or nil if the Deployment has
// it already.
func with(d *appsv1.Deployment, outcome Outcome) *appsv1.Deployment {
	known := outcome.Revision == "" || d.Annotations[revisionAnnotation] == outcome.Revision
	if known && equality.Semantic.DeepEqual(d.Status, outcome.Status) {
		return nil
	}
	update := *d // a shallow copy: objects behind pointers are not changed
	update.Status = outcome.Status
	if !known {
		update.Annotations = maps.Clone(d.Annotations)
		if update.Annotations == nil {
			update.Annotations = map[string]string{}
		}
		update.Annotations[revisionAnnotation] = outcome.Revision
	}
	return &update
}
