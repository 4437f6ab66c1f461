package scheduler

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
)

// claimHandler resumes the pods that wait for a claim, and retries those that a claim's state
// was a reason against.
func (s *Scheduler) claimHandler() cache.ResourceEventHandler {
	set := func(obj any) {
		if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			s.claimChanged(keyOf(claim))
			s.queue.Notify(framework.ClusterEvent{Claim: keyOf(claim)})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, obj any) { set(obj) },
		DeleteFunc: func(obj any) {
			if claim, ok := last[*corev1.PersistentVolumeClaim](obj); ok {
				s.claimChanged(keyOf(claim))
			}
		},
	}
}

func (s *Scheduler) claimChanged(claim types.NamespacedName) {
	for _, uid := range s.volumes.changed(claim) {
		s.queue.Resume(uid)
	}
}

// volumeHandler retries the pods that volumes were a reason against.
func (s *Scheduler) volumeHandler() cache.ResourceEventHandler {
	set := func(volume *corev1.PersistentVolume) {
		if ref := volume.Spec.ClaimRef; ref != nil {
			s.claimChanged(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		}
		s.queue.Notify(framework.ClusterEvent{Storage: true})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if volume, ok := obj.(*corev1.PersistentVolume); ok {
				set(volume)
			}
		},
		UpdateFunc: func(old, obj any) {
			was, ok := old.(*corev1.PersistentVolume)
			volume, ok2 := obj.(*corev1.PersistentVolume)
			if !ok || !ok2 {
				return
			}
			if ref := was.Spec.ClaimRef; ref != nil && volume.Spec.ClaimRef == nil {
				s.claimChanged(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
			}
			set(volume)
		},
	}
}

// classHandler retries the pods that the lack of a StorageClass, or its topologies, were a
// reason against.
func (s *Scheduler) classHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { s.queue.Notify(framework.ClusterEvent{Storage: true}) },
		UpdateFunc: func(old, obj any) {
			was, ok := old.(*storagev1.StorageClass)
			class, ok2 := obj.(*storagev1.StorageClass)
			if ok && ok2 && !reflect.DeepEqual(was.AllowedTopologies, class.AllowedTopologies) {
				s.queue.Notify(framework.ClusterEvent{Storage: true})
			}
		},
	}
}

// storageHandler retries the pods that volumes were a reason against when a CSINode, a CSIDriver or a
// CSIStorageCapacity was added or changed.
func (s *Scheduler) storageHandler() cache.ResourceEventHandler {
	changed := func() { s.queue.Notify(framework.ClusterEvent{Storage: true}) }
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(_, _ any) { changed() },
	}
}

// attachmentHandler retries the pods that volumes were a reason against when a volume is detached from a node.
func (s *Scheduler) attachmentHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(any) { s.queue.Notify(framework.ClusterEvent{Storage: true}) },
	}
}
