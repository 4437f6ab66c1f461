package volumeprovisioner

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// expand gives a bound claim the storage that it requests: its status says so, then its volume is
// expanded, and then its status has the new capacity.
func (c *Controller) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass) (loop.Result, error) {
	if expanding := decide.ExpandingClaim(claim, c.clock.Now()); expanding != nil {
		return loop.Result{}, c.writeStatus(ctx, expanding) // its event follows
	}
	expanded, err := c.expandVolume(ctx, claim, volume, class)
	if apierrors.IsConflict(err) || ctx.Err() != nil {
		return loop.Result{}, err
	}
	if err != nil {
		c.recorder.Eventf(claim, corev1.EventTypeWarning, "VolumeResizeFailed", "resize volume %q failed: %v", volume.Name, err)
		return loop.Result{RequeueAfter: retryDelay}, nil
	}
	if err := c.writeStatus(ctx, decide.ExpandedClaim(claim, expanded)); err != nil {
		return loop.Result{}, err
	}
	c.recorder.Event(claim, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resize volume succeeded")
	return loop.Result{}, nil
}

func (c *Controller) writeStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

// expandVolume returns the volume with the storage that the claim requests.
func (c *Controller) expandVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass) (*corev1.PersistentVolume, error) {
	changed := decide.ExpandedVolume(claim, volume)
	if changed == nil {
		return volume, nil // an earlier attempt has expanded it
	}
	c.recorder.Eventf(claim, corev1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", volume.Name)
	if why := decide.Annotated(claim, class, decide.ErrorAnnotation); why != "" {
		return nil, errors.New(why)
	}
	if err := c.fits(ctx, decide.More(claim, volume), class); err != nil {
		return nil, err
	}
	return c.client.CoreV1().PersistentVolumes().Update(ctx, changed, metav1.UpdateOptions{})
}
