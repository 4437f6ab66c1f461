package persistentvolumeexpander

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, eventSource its name in events and workers its
// default.
const (
	Name        = "persistentvolume-expander-controller"
	eventSource = "volume_expand"
	workers     = 10
)

// Controller reports claims that wait for their expansion. Its keys are claims.
type Controller struct {
	recorder record.EventRecorder
	claims   volumeindex.Claims
	volumes  volumeindex.Volumes
	loop     loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	claims, volumes := e.Informers.PersistentVolumeClaims().Informer(), e.Informers.PersistentVolumes().Informer()
	c := &Controller{recorder: e.Recorder.For(eventSource)}
	var err error
	if c.claims, err = volumeindex.NewClaims(claims.GetIndexer()); err != nil {
		return nil, err
	}
	if c.volumes, err = volumeindex.NewVolumes(volumes.GetIndexer()); err != nil {
		return nil, err
	}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(claims, onClaim)
	// The loop waits for the volumes.
	c.loop.Watch(volumes, loop.None)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

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
