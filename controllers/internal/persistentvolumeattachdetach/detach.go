package persistentvolumeattachdetach

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/csivolume"
)

// podsByNode finds the pods of a node.
type podsByNode interface {
	On(node string) []*corev1.Pod
}

// detach deletes an attachment. The node first stops to report the volume as attached; only then
// it is safe to look whether the kubelet has it in use, because the kubelet mounts no volume that
// its Node does not have in both lists.
//
//	the controller           the kubelet
//	not reported any more    a new pod: volume in use, but not reported: it waits
//	in use? then it is reported again, and the kubelet goes on
//	not in use: deleted      a new pod: volume in use, but not reported: it waits
func (c *Controller) detach(ctx context.Context, v *decide.Volume, d decide.Detach) error {
	c.withhold(d.Attachment, true)
	node, err := c.report(ctx, d.Node)
	if err == nil && !d.Force && inUse(node, v.PersistentVolume) {
		c.withhold(d.Attachment, false)
		_, err = c.report(ctx, d.Node)
		return err // an event follows when the node stops to use it
	}
	if err == nil {
		err = c.api.Delete(ctx, d.Attachment)
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // another one has the name by now
		c.gone(d.Attachment)
		return nil
	case err != nil:
		c.withhold(d.Attachment, false)
	}
	return err
}

// withhold decides whether a node reports an attachment.
func (c *Controller) withhold(a *storagev1.VolumeAttachment, withheld bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if withheld {
		c.detaching[a.Name] = a.UID
	} else {
		delete(c.detaching, a.Name)
	}
}

// gone forgets an attachment that the API does not have any more. If the cache still has it, it is
// withheld until the cache does not.
func (c *Controller) gone(a *storagev1.VolumeAttachment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.created, a.Name)
	if cached := c.attachments.Get(a.Name); cached == nil || cached.UID != a.UID {
		delete(c.detaching, a.Name)
	}
}

func inUse(node *corev1.Node, volume *corev1.PersistentVolume) bool {
	return node != nil && volume != nil && slices.Contains(node.Status.VolumesInUse, csivolume.UniqueName(volume.Spec.CSI))
}

// reconcileNode corrects the volumes that a node reports as attached.
func (c *Controller) reconcileNode(ctx context.Context, name string) error {
	node := c.cachedNode(name)
	if node == nil || !decide.HealthOf(node).Managed || slices.Equal(node.Status.VolumesAttached, c.attachedTo(name)) {
		return nil
	}
	_, err := c.report(ctx, name)
	return err
}

// report makes a node report the volumes that are attached to it, and returns the node as it is
// in the API then; nil: it does not exist.
func (c *Controller) report(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := c.api.Node(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting node %s: %w", name, err)
	}
	attached := c.attachedTo(name)
	if slices.Equal(node.Status.VolumesAttached, attached) {
		return node, nil
	}
	patch, err := attachedPatch(attached)
	if err != nil {
		return nil, err
	}
	node, err = c.api.PatchNodeStatus(ctx, name, patch)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the attached volumes of node %s: %w", name, err)
	}
	return node, nil
}

// attachedTo returns the volumes that a node has to report, sorted by name.
func (c *Controller) attachedTo(node string) []corev1.AttachedVolume {
	c.mu.Lock()
	defer c.mu.Unlock()
	var attached []corev1.AttachedVolume
	for _, a := range c.attachments.On(node) {
		volume := c.volumes.Get(volumeindex.VolumeOf(a))
		if !a.Status.Attached || a.DeletionTimestamp != nil || c.detaching[a.Name] == a.UID || volume == nil || !ours(volume, a) {
			continue
		}
		attached = append(attached, corev1.AttachedVolume{Name: csivolume.UniqueName(volume.Spec.CSI)})
	}
	slices.SortFunc(attached, func(a, b corev1.AttachedVolume) int { return cmp.Compare(a.Name, b.Name) })
	return attached
}
