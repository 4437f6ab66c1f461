package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

// manage ensures that each node that should have a pod has one, and that other nodes have
// none. A node whose pod is terminating gets a new one only after that is gone.
func (s *step) manage() {
	for _, at := range s.sites {
		switch {
		case at.node == nil:
			// The pod garbage collector deletes the pods of missing nodes.
		case at.run && len(at.pods) == 0:
			s.create = append(s.create, at.name)
		case at.stay:
			s.tend(at)
		default:
			for _, pod := range at.pods {
				if pod.DeletionTimestamp == nil {
					s.remove = append(s.remove, pod)
				}
			}
		}
	}
	s.remove = append(s.remove, s.lost...)
}

// tend deletes pods that have ended and surplus ones. With a surge a node may have two: an
// old one until the new one is available.
func (s *step) tend(at *site) {
	alive := s.clear(at)
	switch {
	case !s.surges():
		if len(alive) > 1 {
			s.remove = append(s.remove, alive[1:]...)
		}
	case len(alive) == 0:
		if at.run {
			s.create = append(s.create, at.name)
		}
	case len(alive) > 1:
		s.pair(alive)
	}
}

// clear deletes the pods that have ended, failed ones after their delay, and returns the
// others.
func (s *step) clear(at *site) []*corev1.Pod {
	var alive []*corev1.Pod
	for _, pod := range at.pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case !controllerref.Ended(pod):
			alive = append(alive, pod)
		case pod.Status.Phase == corev1.PodSucceeded:
			s.events = append(s.events, plan.Event{
				Type: corev1.EventTypeNormal, Reason: "SucceededDaemonPod",
				Message: fmt.Sprintf("Found succeeded daemon pod %s/%s on node %s, will try to delete it", pod.Namespace, pod.Name, at.name),
			})
			s.remove = append(s.remove, pod)
		default:
			if wait := s.failures.wait(at.name, s.now); wait > 0 {
				s.again(wait)
				continue
			}
			s.events = append(s.events, plan.Event{
				Type: corev1.EventTypeWarning, Reason: "FailedDaemonPod",
				Message: fmt.Sprintf("Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace, pod.Name, at.name),
			})
			s.remove = append(s.remove, pod)
		}
	}
	return alive
}

// pair keeps the oldest new pod and, while that is not available and the old pod is ready,
// the oldest old one.
func (s *step) pair(alive []*corev1.Pod) {
	var young, old *corev1.Pod
	for _, pod := range alive {
		switch {
		case s.revs.updated(pod) && young == nil:
			young = pod
		case !s.revs.updated(pod) && old == nil:
			old = pod
		default:
			s.remove = append(s.remove, pod)
		}
	}
	if young != nil && old != nil && (!controllerref.Ready(old) || s.available(young)) {
		s.remove = append(s.remove, old)
	}
}
