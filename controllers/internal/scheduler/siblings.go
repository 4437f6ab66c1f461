package scheduler

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// maxSiblings caps the cache of pod sets by owner.
const maxSiblings = 1024

// siblings finds the pods that a pod is spread from by kube-scheduler's default
// constraints: the pods that match the selectors of all services that select the pod, and of its
// controller. It belongs to the deciding goroutine.
type siblings struct {
	services     corelisters.ServiceLister
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister

	known map[types.UID]ownedSet // by owner
}

// ownedSet is the result for an owner's state and the labels that services select. It keeps the
// owner's revision, not the object: entries of deleted owners stay until the cache is full.
type ownedSet struct {
	revision string
	services labels.Set
	set      *framework.PodSet
}

// newSiblings also returns the sync checks of the informers that it reads.
func newSiblings(kinds informers.Kinds) (*siblings, []cache.DoneChecker) {
	s := &siblings{
		services:     kinds.Services().Lister(),
		controllers:  kinds.ReplicationControllers().Lister(),
		replicaSets:  kinds.ReplicaSets().Lister(),
		statefulSets: kinds.StatefulSets().Lister(),
		known:        map[types.UID]ownedSet{},
	}
	return s, []cache.DoneChecker{
		kinds.Services().Informer().HasSyncedChecker(),
		kinds.ReplicationControllers().Informer().HasSyncedChecker(),
		kinds.ReplicaSets().Informer().HasSyncedChecker(),
		kinds.StatefulSets().Informer().HasSyncedChecker(),
	}
}

// of returns the siblings of the pod; nil: none.
func (s *siblings) of(pod *corev1.Pod) (*framework.PodSet, error) {
	selected, err := s.selected(pod)
	if err != nil {
		return nil, err
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	var owner metav1.Object
	var selector *metav1.LabelSelector
	if ref != nil {
		owner, selector = s.owner(pod.Namespace, ref)
	}
	if selector == nil {
		if len(selected) == 0 {
			return nil, nil
		}
		return framework.NewPodSet(pod.Namespace, selected.AsSelector()), nil
	}
	if known, ok := s.known[ref.UID]; ok && known.revision == owner.GetResourceVersion() && labels.Equals(known.services, selected) {
		return known.set, nil
	}
	both := selected.AsSelector()
	requirements, _ := framework.ParseSelector(selector).Requirements()
	set := (*framework.PodSet)(nil)
	if both = both.Add(requirements...); !both.Empty() {
		set = framework.NewPodSet(pod.Namespace, both)
	}
	if len(s.known) >= maxSiblings {
		clear(s.known)
	}
	s.known[ref.UID] = ownedSet{owner.GetResourceVersion(), selected, set}
	return set, nil
}

// selected returns the merged selectors of the services that select the pod.
func (s *siblings) selected(pod *corev1.Pod) (labels.Set, error) {
	services, err := s.services.Services(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing the services of namespace %s: %w", pod.Namespace, err)
	}
	var all labels.Set
	for _, service := range services {
		if len(service.Spec.Selector) > 0 && labels.ValidatedSetSelector(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			all = labels.Merge(all, service.Spec.Selector)
		}
	}
	return all, nil
}

// owner returns the pod's controller and its selector; nil if the controller is not in the
// cache, or is of another kind.
func (s *siblings) owner(namespace string, ref *metav1.OwnerReference) (metav1.Object, *metav1.LabelSelector) {
	switch schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind) {
	case corev1.SchemeGroupVersion.WithKind("ReplicationController"):
		if rc, err := s.controllers.ReplicationControllers(namespace).Get(ref.Name); err == nil {
			return rc, &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
		}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		if rs, err := s.replicaSets.ReplicaSets(namespace).Get(ref.Name); err == nil {
			return rs, rs.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if set, err := s.statefulSets.StatefulSets(namespace).Get(ref.Name); err == nil {
			return set, set.Spec.Selector
		}
	}
	return nil, nil
}
