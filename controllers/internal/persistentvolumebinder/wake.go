package persistentvolumebinder

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// onClaim wakes a claim and the volumes that refer to it.
func (c *Controller) onClaim(ev loop.Event) []types.NamespacedName {
	claim, ok := ev.Object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	key := loop.KeyOf(claim)
	return append([]types.NamespacedName{key}, keysOf(c.volumes.For(key))...)
}

// onVolume wakes a volume, the claims that name it or that it refers to, and, if it is available,
// the claims that look for a volume in its class.
func (c *Controller) onVolume(ev loop.Event) []types.NamespacedName {
	volume, ok := ev.Object.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	keys := append([]types.NamespacedName{{Name: volume.Name}}, keysOf(c.claims.Naming(volume.Name))...)
	switch ref := volume.Spec.ClaimRef; {
	case ref != nil:
		keys = append(keys, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	case ev.Type != loop.Deleted && volume.DeletionTimestamp == nil && volume.Status.Phase == corev1.VolumeAvailable:
		keys = append(keys, keysOf(c.claims.Unbound(storagehelpers.GetPersistentVolumeClass(volume)))...)
	}
	return keys
}

// onClass wakes the claims that look for a volume in a class, or that have no class: this one
// may be the default.
func (c *Controller) onClass(ev loop.Event) []types.NamespacedName {
	return append(keysOf(c.claims.Unbound(ev.Object.GetName())), keysOf(c.claims.Unbound(""))...)
}

// onPod wakes the volume that a pod recycles, and the volumes whose recycling waits for the end of
// the pods that use them.
func (c *Controller) onPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	var keys []types.NamespacedName
	if name := decide.RecycledBy(pod); name != "" {
		keys = append(keys, types.NamespacedName{Name: name})
	}
	for _, claim := range volumeindex.ClaimsOf(pod) {
		for _, volume := range c.volumes.For(claim) {
			if decide.IsRecycled(volume) {
				keys = append(keys, types.NamespacedName{Name: volume.Name})
			}
		}
	}
	return keys
}

func keysOf[T metav1.Object](objects []T) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(objects))
	for _, o := range objects {
		keys = append(keys, loop.KeyOf(o))
	}
	return keys
}
