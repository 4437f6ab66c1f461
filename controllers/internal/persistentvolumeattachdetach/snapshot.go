package persistentvolumeattachdetach

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/csivolume"
)

// gather returns the inputs of the decision about a volume; nil: it is not of a CSI driver, or
// no pod and no attachment is left.
func (c *Controller) gather(name string) *decide.Volume {
	volume := c.volumes.Get(name)
	if volume != nil && volume.Spec.CSI == nil {
		return nil
	}
	v := &decide.Volume{PersistentVolume: volume, NoForce: c.noForce}
	nodes := map[string]*decide.Node{}
	on := func(node string) *decide.Node {
		if nodes[node] == nil {
			nodes[node] = c.node(volume, node)
			nodes[node].Progress = c.progress[name][node]
		}
		return nodes[node]
	}
	for _, attachment := range c.attachmentsOf(volume, name) {
		on(attachment.Spec.NodeName).Attachment = attachment
	}
	if volume != nil && volume.Spec.ClaimRef != nil {
		var pods []*corev1.Pod
		pods, v.MayAttach = c.users(volume)
		for _, pod := range pods {
			if decide.Uses(pod, c.healthFor(pod, nodes)) {
				n := on(pod.Spec.NodeName)
				n.Pods = append(n.Pods, pod)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		v.Nodes = append(v.Nodes, *nodes[name])
	}
	if len(v.Nodes) == 0 {
		return nil
	}
	return v
}

// healthFor returns the health of a pod's node. One that is gone stays managed while the volume is attached to it: its
// pods use the volume until they are deleted, too.
func (c *Controller) healthFor(pod *corev1.Pod, attached map[string]*decide.Node) decide.Health {
	health := decide.HealthOf(c.cachedNode(pod.Spec.NodeName))
	if n := attached[pod.Spec.NodeName]; !health.Exists && n != nil && n.Attachment != nil {
		health.Managed = true
	}
	return health
}

// node returns a node without its pods. One that does not exist counts as one that has the volume
// mounted.
func (c *Controller) node(volume *corev1.PersistentVolume, name string) *decide.Node {
	object := c.cachedNode(name)
	health := decide.HealthOf(object)
	n := &decide.Node{Name: name, Ready: health.Ready, OutOfService: health.OutOfService, InUse: object == nil}
	if volume != nil {
		n.InUse = object == nil || slices.Contains(object.Status.VolumesInUse, csivolume.UniqueName(volume.Spec.CSI))
	}
	return n
}

// attachmentsOf returns the attachments of a volume that this controller has created, or would
// have: also those that the cache does not have yet.
func (c *Controller) attachmentsOf(volume *corev1.PersistentVolume, name string) []*storagev1.VolumeAttachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	attachments := c.attachments.Of(name)
	for _, created := range c.created {
		if volumeindex.VolumeOf(created) == name && c.attachments.Get(created.Name) == nil {
			attachments = append(attachments, created)
		}
	}
	return slices.DeleteFunc(attachments, func(a *storagev1.VolumeAttachment) bool {
		return !ours(volume, a)
	})
}

// ours reports whether an attachment of a volume has the name that this controller chooses. Of a volume that is
// gone (nil), or has never been there, only the form of the names is known.
func ours(volume *corev1.PersistentVolume, a *storagev1.VolumeAttachment) bool {
	if volume == nil {
		return csivolume.IsAttachmentName(a.Name)
	}
	return volume.Spec.CSI != nil && a.Name == csivolume.AttachmentName(volume.Spec.CSI, a.Spec.NodeName)
}

// users returns the pods on any node that use the claim of a volume, and whether the volume may be
// attached for them. While the cache lacks the claim, pods that name it keep the volume.
func (c *Controller) users(volume *corev1.PersistentVolume) (pods []*corev1.Pod, mayAttach bool) {
	ref := volume.Spec.ClaimRef
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	claim := c.claims.Get(key)
	if claim != nil && (claim.Spec.VolumeName != volume.Name || ref.UID != "" && claim.UID != ref.UID) {
		return nil, false
	}
	pods = slices.DeleteFunc(c.pods.Using(key), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
	bound := claim != nil && claim.Status.Phase == corev1.ClaimBound && ref.UID != ""
	return pods, bound && csivolume.RequiresAttach(c.driver(volume.Spec.CSI.Driver))
}

// driver returns the CSIDriver of a driver; nil: there is none.
func (c *Controller) driver(name string) *storagev1.CSIDriver {
	o, _, _ := c.drivers.GetByKey(name) // the lookup by a key does not fail
	driver, _ := o.(*storagev1.CSIDriver)
	return driver
}

// cachedNode returns a node of the cache; nil: it is not there.
func (c *Controller) cachedNode(name string) *corev1.Node {
	o, _, _ := c.nodes.GetByKey(name) // the lookup by a key does not fail
	node, _ := o.(*corev1.Node)
	return node
}
