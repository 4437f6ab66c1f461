package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/history"
)

// count returns the status that follows from the pods, and the time until the next ready
// pod becomes available.
func count(set *appsv1.StatefulSet, plain Plain, pods []*corev1.Pod, revs *revisions, now time.Time) (*appsv1.StatefulSetStatus, time.Duration) {
	collisions := int32(0)
	if set.Status.CollisionCount != nil {
		collisions = *set.Status.CollisionCount
	}
	status := &appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation,
		CurrentRevision:    revs.current.Name,
		UpdateRevision:     revs.update.Name,
		CollisionCount:     &collisions,
		Conditions:         set.Status.Conditions,
	}
	n := int32(plain.Count) // no more than the replicas
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = n, n, n, n
	if revs.current.Name == revs.update.Name {
		status.CurrentReplicas = n
	}
	var soonest time.Duration
	for _, pod := range pods {
		status.Replicas++
		if pod.DeletionTimestamp == nil {
			if revisionOf(pod) == revs.current.Name {
				status.CurrentReplicas++
			}
			if revs.updated(pod) {
				status.UpdatedReplicas++
			}
		}
		if !running(pod) {
			continue
		}
		status.ReadyReplicas++
		available, lacks := controllerref.Available(pod, set.Spec.MinReadySeconds, now)
		if available {
			status.AvailableReplicas++
		} else if lacks > 0 && (soonest == 0 || lacks < soonest) {
			soonest = lacks
		}
	}
	complete(set, status)
	return status, soonest
}

// complete ends an update in the status when all pods have the new revision and are ready.
// It does not matter what replaced them.
func complete(set *appsv1.StatefulSet, status *appsv1.StatefulSetStatus) {
	wanted := int32(replicas(set))
	if status.UpdatedReplicas == wanted && status.ReadyReplicas == wanted && status.Replicas == wanted {
		status.CurrentReplicas = status.UpdatedReplicas
		status.CurrentRevision = status.UpdateRevision
	}
}

// Conclude returns the StatefulSet to write with its new status, or nil if it has that
// status already. After a collision it raises the collision count, which changes the name
// of the newest revision.
func Conclude(set *appsv1.StatefulSet, p Plan, collided bool) *appsv1.StatefulSet {
	update := *set // a shallow copy: objects behind pointers are not changed
	switch {
	case collided:
		update.Status.CollisionCount = history.More(set.Status.CollisionCount)
	case equality.Semantic.DeepEqual(*p.Status, set.Status):
		return nil
	default:
		update.Status = *p.Status
	}
	return &update
}
