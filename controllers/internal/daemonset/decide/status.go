package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/history"
)

// count computes the status from the sites. Of several pods on a node, it counts the most
// senior one.
func (s *step) count() *appsv1.DaemonSetStatus {
	status := &appsv1.DaemonSetStatus{
		ObservedGeneration:     s.d.Generation,
		DesiredNumberScheduled: int32(s.desired),
		CollisionCount:         s.d.Status.CollisionCount,
		Conditions:             s.d.Status.Conditions,
	}
	for _, at := range s.sites {
		switch {
		case at.node == nil || len(at.pods) == 0:
		case !at.run:
			status.NumberMisscheduled++
		default:
			status.CurrentNumberScheduled++
			pod := at.pods[0]
			if controllerref.Ready(pod) {
				status.NumberReady++
				if s.available(pod) {
					status.NumberAvailable++
				}
			}
			if s.revs.updated(pod) {
				status.UpdatedNumberScheduled++
			}
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}

// Conclude returns the DaemonSet to write with its new status, or nil if it has that status
// already. After a collision it raises the collision count, which changes the name of the
// newest revision.
func Conclude(d *appsv1.DaemonSet, p Plan, collided bool) *appsv1.DaemonSet {
	update := *d // a shallow copy: objects behind pointers are not changed
	switch {
	case collided:
		update.Status.CollisionCount = history.More(d.Status.CollisionCount)
	case p.Status == nil || equality.Semantic.DeepEqual(*p.Status, d.Status):
		return nil
	default:
		update.Status = *p.Status
	}
	return &update
}
