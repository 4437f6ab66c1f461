package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// Handlers update the cache before the queue: a pod that the queue retries because of an
// event is decided on with a snapshot that shows the event.
//
//	informer goroutine            deciding goroutine
//	cache.SetNode(n)
//	queue.Notify(event)           queue.Pop() returns pod p
//	                              cache.UpdateSnapshot shows n: p may fit on it
//
// In the opposite order p could be popped before SetNode, be rejected by the old state of
// n, and wait until the next event.

func (s *Scheduler) nodeHandler() cache.ResourceEventHandler {
	set := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			s.queue.Notify(s.cache.SetNode(node))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if node, ok := last[*corev1.Node](obj); ok {
				s.queue.Notify(s.cache.RemoveNode(node.Name))
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
			if was.UID != pod.UID { // deleted and created again between two lists
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
	case controllerref.Ended(pod):
		s.removePod(pod)
	case pod.Spec.NodeName != "":
		c := s.cache.SetPod(pod)
		grouped := s.groups.setPod(pod)
		s.unqueue(pod)
		s.queue.Notify(c)
		if grouped {
			s.queue.Regroup(framework.GroupOf(pod), false)
		}
	case s.profileOf(pod) != nil && !s.cache.HasPod(pod.UID):
		s.groups.setPod(pod)
		if pod.Status.NominatedNodeName != "" && s.queue.IsNew(pod.UID) {
			s.nominator.Set(framework.NewPodInfo(pod), pod.Status.NominatedNodeName)
		}
		s.queue.Set(pod)
	}
}

// removePod removes a pod that is deleted or has ended: it uses no resources any more.
func (s *Scheduler) removePod(pod *corev1.Pod) {
	c := s.cache.RemovePod(pod.UID)
	s.groups.removePod(pod)
	s.unqueue(pod)
	s.queue.Notify(c)
}

// unqueue removes a pod that needs no node from the queue, with its nomination.
func (s *Scheduler) unqueue(pod *corev1.Pod) {
	s.queue.Remove(pod.UID)
	s.volumes.forget(pod.UID)
	s.devices.bindings.forget(pod.UID)
	if s.devices.forget(pod.UID) {
		s.queue.Notify(framework.ClusterEvent{Devices: true})
	}
	if node := s.nominator.Remove(pod.UID); node != "" {
		s.queue.Notify(framework.ClusterEvent{Node: node})
	}
}

// podGroupHandler updates the groups before the queue, as the other handlers do with the cache.
func (s *Scheduler) podGroupHandler() cache.ResourceEventHandler {
	set := func(obj any) {
		if group, ok := obj.(*schedulingv1beta1.PodGroup); ok {
			helps := s.groups.setObject(group)
			s.queue.Regroup(keyOf(group), helps)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if group, ok := last[*schedulingv1beta1.PodGroup](obj); ok {
				s.groups.removeObject(group)
				s.queue.Regroup(keyOf(group), false)
			}
		},
	}
}
