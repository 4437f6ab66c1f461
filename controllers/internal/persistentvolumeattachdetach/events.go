package persistentvolumeattachdetach

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// ofNode is the namespace of the keys of nodes. No namespace has this name.
const ofNode = "Node"

func volumeKey(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
func nodeKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ofNode, Name: name}
}

// onPod enqueues the volumes of a pod that comes to a node, or stops to use its volumes.
func (c *Controller) onPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	claims := volumeindex.ClaimsOf(pod)
	if len(claims) == 0 {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Pod); ok && ev.Type == loop.Updated && old.UID == pod.UID &&
		old.Spec.NodeName == pod.Spec.NodeName && decide.Terminated(old) == decide.Terminated(pod) {
		return nil
	}
	return c.volumesOf(claims)
}

// volumesOf returns the keys of the volumes that refer to claims.
func (c *Controller) volumesOf(claims []types.NamespacedName) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, claim := range claims {
		for _, volume := range c.volumes.For(claim) {
			keys = append(keys, volumeKey(volume.Name))
		}
	}
	return keys
}

// onClaim enqueues the volumes of a claim that was bound, or deleted.
func (c *Controller) onClaim(ev loop.Event) []types.NamespacedName {
	claim, ok := ev.Object.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	if old, ok := ev.Old.(*corev1.PersistentVolumeClaim); ok && old.UID == claim.UID &&
		old.Spec.VolumeName == claim.Spec.VolumeName && old.Status.Phase == claim.Status.Phase {
		return nil
	}
	return []types.NamespacedName{volumeKey(claim.Spec.VolumeName)}
}

// onVolume enqueues a volume of a CSI driver that comes or goes, or gets another claim.
func (c *Controller) onVolume(ev loop.Event) []types.NamespacedName {
	volume, ok := ev.Object.(*corev1.PersistentVolume)
	if !ok || volume.Spec.CSI == nil {
		return nil
	}
	if old, ok := ev.Old.(*corev1.PersistentVolume); ok && old.UID == volume.UID && claimUID(old) == claimUID(volume) {
		return nil
	}
	return loop.Self(ev)
}

func claimUID(volume *corev1.PersistentVolume) types.UID {
	if ref := volume.Spec.ClaimRef; ref != nil {
		return ref.UID
	}
	return ""
}

// onAttachment enqueues the volume and the node of an attachment.
func (c *Controller) onAttachment(ev loop.Event) []types.NamespacedName {
	attachment, ok := ev.Object.(*storagev1.VolumeAttachment)
	if !ok || volumeindex.VolumeOf(attachment) == "" {
		return nil
	}
	return []types.NamespacedName{volumeKey(volumeindex.VolumeOf(attachment)), nodeKey(attachment.Spec.NodeName)}
}

// seeAttachment drops the attachment from created and detaching, as the cache shows its state now.
func (c *Controller) seeAttachment(ev loop.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.created, ev.Object.GetName())
	if ev.Type == loop.Deleted {
		delete(c.detaching, ev.Object.GetName())
	}
}

// onNode enqueues a node whose report has to be checked, and the volumes that the change concerns.
func (c *Controller) onNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	keys := []types.NamespacedName{nodeKey(node.Name)}
	old, known := ev.Old.(*corev1.Node)
	before, after := decide.HealthOf(old), decide.HealthOf(node)
	if known && before == after && slices.Equal(old.Status.VolumesInUse, node.Status.VolumesInUse) {
		if slices.Equal(old.Status.VolumesAttached, node.Status.VolumesAttached) {
			return nil
		}
		return keys
	}
	for _, attachment := range c.attachments.On(node.Name) {
		keys = append(keys, volumeKey(volumeindex.VolumeOf(attachment)))
	}
	if known && before.Managed == after.Managed && before.KeepsTerminated == after.KeepsTerminated {
		return keys
	}
	for _, pod := range c.podsByNode.On(node.Name) {
		keys = append(keys, c.volumesOf(volumeindex.ClaimsOf(pod))...)
	}
	return keys
}
