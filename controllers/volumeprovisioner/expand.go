package volumeprovisioner

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/volumeprovisioner/decide"
)

// expand gives a bound claim the storage that it requests: first its volume, then its status.
func (c *Controller) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass) (loop.Result, error) {
	expanded, err := c.expandVolume(ctx, claim, volume, class)
	if apierrors.IsConflict(err) || ctx.Err() != nil {
		return loop.Result{}, err
	}
	if err != nil {
		c.recorder.Eventf(claim, corev1.EventTypeWarning, "VolumeResizeFailed", "resize volume %q failed: %v", volume.Name, err)
		return loop.Result{RequeueAfter: retryDelay}, nil
	}
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, decide.ExpandedClaim(claim, expanded), metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("writing the capacity of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	c.recorder.Event(claim, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resize volume succeeded")
	return loop.Result{}, nil
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
