package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Events tell the beliefs first, then the queue: who is woken sees the change.

func (s *Scheduler) nodeHandler() cache.ResourceEventHandler {
	set := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			s.queue.changed(s.cache.setNode(node))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if node, ok := last[*corev1.Node](obj); ok {
				s.queue.changed(s.cache.removeNode(node.Name))
			}
		},
	}
}

func (s *Scheduler) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok {
				s.setPod(pod)
			}
		},
		UpdateFunc: func(old, obj any) {
			was, ok := old.(*corev1.Pod)
			pod, ok2 := obj.(*corev1.Pod)
			if !ok || !ok2 {
				return
			}
			if was.UID != pod.UID { // deleted and made anew between two lists
				s.removePod(was)
			}
			s.setPod(pod)
		},
		DeleteFunc: func(obj any) {
			if pod, ok := last[*corev1.Pod](obj); ok {
				s.removePod(pod)
			}
		},
	}
}

// last returns a deleted object's last known state.
func last[T any](obj any) (T, bool) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, ok := obj.(T)
	return o, ok
}

func (s *Scheduler) setPod(pod *corev1.Pod) {
	switch {
	case ended(pod):
		s.removePod(pod)
	case pod.Spec.NodeName != "":
		c := s.cache.setPod(pod)
		s.unqueue(pod)
		s.queue.changed(c)
	case pod.Spec.SchedulerName == Name && !s.cache.has(pod.UID):
		if pod.Status.NominatedNodeName != "" && s.queue.isNew(pod.UID) {
			s.nominations.set(NewPodInfo(pod), pod.Status.NominatedNodeName)
		}
		s.queue.set(pod)
	}
}

// removePod forgets a pod that is gone, or has ended: it holds nothing any more.
func (s *Scheduler) removePod(pod *corev1.Pod) {
	c := s.cache.removePod(pod.UID)
	s.unqueue(pod)
	s.queue.changed(c)
}

// unqueue forgets a pod that needs no node, and the room that was made for it.
func (s *Scheduler) unqueue(pod *corev1.Pod) {
	s.queue.remove(pod.UID)
	if node := s.nominations.remove(pod.UID); node != "" {
		s.queue.changed(change{node: node})
	}
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
