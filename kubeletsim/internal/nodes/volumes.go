package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// annotationControllerAttaches is the annotation with which a kubelet leaves attachments to the attach-detach
// controller.
const annotationControllerAttaches = "volumes.kubernetes.io/controller-managed-attach-detach"

// volumesInUse holds the attachable volumes of each pod, from before a volume is mounted until after it is
// unmounted.
type volumesInUse map[types.UID]map[corev1.UniqueVolumeName]bool

// UseVolume records that a pod uses a volume, and reports whether that changes status.volumesInUse of the Node.
func (n *Node) UseVolume(pod types.UID, volume corev1.UniqueVolumeName) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.volumes[pod][volume] {
		return false
	}
	if n.volumes == nil {
		n.volumes = volumesInUse{}
	}
	if n.volumes[pod] == nil {
		n.volumes[pod] = map[corev1.UniqueVolumeName]bool{}
	}
	n.volumes[pod][volume] = true
	n.changed = true
	return true
}

// ReleaseVolumes records that a pod uses no volume any more, and reports whether that changes status.volumesInUse
// of the Node.
func (n *Node) ReleaseVolumes(pod types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.volumes[pod]) == 0 {
		return false
	}
	delete(n.volumes, pod)
	n.changed = true
	return true
}

// inUse returns the volumes that pods use, sorted.
func (n *Node) inUse() []corev1.UniqueVolumeName {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.volumes) == 0 {
		return nil
	}
	all := map[corev1.UniqueVolumeName]bool{}
	for _, volumes := range n.volumes {
		maps.Copy(all, volumes)
	}
	return slices.Sorted(maps.Keys(all))
}

// PodsWithVolumes returns the pods that use volumes, sorted.
func (n *Node) PodsWithVolumes() []types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.volumes))
}
