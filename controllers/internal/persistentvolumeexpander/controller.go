package persistentvolumeexpander

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// eventSource is upstream's source of the controller's events.
const eventSource = "volume_expand"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "persistentvolume-expander-controller", Workers: 10, Aliases: []string{"persistentvolume-expander"}, Account: "expand-controller",
		About:   "reports which claims wait for an external controller to expand them",
		Watches: []string{"persistentvolumeclaims", "persistentvolumes"}, Writes: []string{"events"},
		Docs:  "concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
		Build: build,
	}
}

// Controller reports claims that wait for their expansion. Its keys are claims.
type Controller struct {
	recorder record.EventRecorder
	claims   volumeindex.Claims
	volumes  volumeindex.Volumes
}

func build(p *controller.Parts) error {
	claims, volumes := p.Informers.PersistentVolumeClaims().Informer(), p.Informers.PersistentVolumes().Informer()
	c := &Controller{recorder: p.Recorder.For(eventSource)}
	var err error
	if c.claims, err = volumeindex.NewClaims(claims.GetIndexer()); err != nil {
		return err
	}
	if c.volumes, err = volumeindex.NewVolumes(volumes.GetIndexer()); err != nil {
		return err
	}
	l := p.Loop(c)
	l.Watch(claims, onClaim)
	// The loop waits for the volumes.
	l.Watch(volumes, loop.None)
	return nil
}

// onClaim enqueues a claim whose request has grown.
func onClaim(ev loop.Event) []types.NamespacedName {
	claim, ok := ev.Object.(*corev1.PersistentVolumeClaim)
	if !ok || ev.Type == loop.Deleted || !waits(claim) {
		return nil
	}
	if old, ok := ev.Old.(*corev1.PersistentVolumeClaim); ok && claim.Spec.Resources.Requests.Storage().Cmp(*old.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	return loop.Self(ev)
}

// waits reports whether a bound claim requests more storage than it has.
func waits(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != "" &&
		claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0
}

// Reconcile reports a claim that waits.
func (c *Controller) Reconcile(_ context.Context, key types.NamespacedName) (loop.Result, error) {
	claim := c.claims.Get(key)
	if claim == nil || !waits(claim) {
		return loop.Result{}, nil
	}
	volume := c.volumes.Get(claim.Spec.VolumeName)
	if volume == nil {
		return loop.Result{}, fmt.Errorf("expanding claim %s: its volume %s is not in the cache", key, claim.Spec.VolumeName)
	}
	if ref := volume.Spec.ClaimRef; ref == nil || ref.UID != claim.UID {
		return loop.Result{}, fmt.Errorf("expanding claim %s: its volume %s is not bound to it", key, volume.Name)
	}
	c.recorder.Event(claim, corev1.EventTypeNormal, "ExternalExpanding", "waiting for an external controller to expand this PVC")
	return loop.Result{}, nil
}
