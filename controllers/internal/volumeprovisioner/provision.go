package volumeprovisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// provision creates the volume for a claim. If that fails and the scheduler has selected a
// node, the selection is removed, so that the scheduler decides again.
func (c *Controller) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (loop.Result, error) {
	if c.volume(decide.VolumeName(claim.UID)) != nil {
		return loop.Result{}, nil // the binder binds the two
	}
	delay, wrong := decide.Delay(claim, class)
	if left := c.begin(claim, delay); left > 0 && wrong == nil {
		return loop.Result{RequeueAfter: left, Postponed: true}, nil
	}
	delete(c.begun, loop.KeyOf(claim))
	if wrong == nil {
		wrong = c.create(ctx, claim, class)
	}
	if wrong == nil {
		return loop.Result{}, nil
	}
	if apierrors.IsConflict(wrong) || ctx.Err() != nil {
		return loop.Result{}, wrong
	}
	c.recorder.Eventf(claim, corev1.EventTypeWarning, "ProvisioningFailed", "failed to provision volume with StorageClass %q: %v", class.Name, wrong)
	if decide.SelectedNode(claim) == "" {
		return loop.Result{RequeueAfter: retryDelay}, nil
	}
	if _, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, decide.Unselected(claim), metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("removing the selected node of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return loop.Result{}, nil
}

// begin reports the beginning of a provisioning once, and returns the rest of its delay.
func (c *Controller) begin(claim *corev1.PersistentVolumeClaim, delay time.Duration) time.Duration {
	now := c.clock.Now()
	began := c.begun[loop.KeyOf(claim)]
	if began.claim != claim.UID {
		began = beginning{claim.UID, now}
		c.begun[loop.KeyOf(claim)] = began
		c.recorder.Eventf(claim, corev1.EventTypeNormal, "Provisioning", "External provisioner is provisioning volume for claim %q", claim.Namespace+"/"+claim.Name)
	}
	return began.at.Add(delay).Sub(now)
}

// create creates the volume for a claim. Its errors are shown in events.
func (c *Controller) create(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	if why := decide.Annotated(claim, class, decide.ErrorAnnotation); why != "" {
		return errors.New(why)
	}
	if err := c.fits(ctx, claim, class); err != nil {
		return err
	}
	var node *corev1.Node
	if name := decide.SelectedNode(claim); name != "" {
		var err error
		if node, err = c.nodes.Get(name); err != nil {
			return fmt.Errorf("getting the selected node: %w", err)
		}
	}
	volume, err := decide.Volume(claim, class, node)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // an earlier attempt has created it
		return fmt.Errorf("creating volume %s: %w", volume.Name, err)
	}
	c.recorder.Eventf(claim, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s", volume.Name)
	return nil
}

// fits returns an error if the class has not enough capacity left. It asks the API, because
// the cache may not have the volumes yet that this controller has just created.
func (c *Controller) fits(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	limit, err := decide.Limit(class)
	if err != nil || limit == nil {
		return err
	}
	list, err := c.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing volumes: %w", err)
	}
	volumes := make([]*corev1.PersistentVolume, len(list.Items))
	for i := range list.Items {
		volumes[i] = &list.Items[i]
	}
	return decide.Fits(claim, class, volumes)
}

// reconcileVolume deletes a volume whose claim is gone.
func (c *Controller) reconcileVolume(ctx context.Context, name string) (loop.Result, error) {
	volume := c.volume(name)
	if volume == nil {
		return loop.Result{}, nil
	}
	class, err := c.class(volume.Spec.StorageClassName)
	if err != nil || !decide.Deletes(volume, class) || len(c.attachments.Of(name)) > 0 {
		return loop.Result{}, err // the event of the attachment's deletion follows
	}
	if why := decide.Annotated(volume, class, decide.DeleteErrorAnnotation); why != "" {
		c.recorder.Event(volume, corev1.EventTypeWarning, "VolumeFailedDelete", why)
		return loop.Result{RequeueAfter: retryDelay}, nil
	}
	err = c.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(volume.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("deleting volume %s: %w", name, err)
	}
	return loop.Result{}, nil
}

// volume returns a volume of the cache; nil: it is not there.
func (c *Controller) volume(name string) *corev1.PersistentVolume {
	o, _, _ := c.volumes.GetByKey(name) // the lookup by a key does not fail
	volume, _ := o.(*corev1.PersistentVolume)
	return volume
}
