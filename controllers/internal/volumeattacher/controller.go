package volumeattacher

import (
	"context"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/volumeattacher/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is the controller's name, and Account the name of its service account. Upstream has neither.
const (
	Name    = "simulated-volume-attacher"
	Account = "simulated-volume-attacher"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		// The workers are the default of upstream's external attacher.
		Name: Name, Workers: 10, Account: Account,
		About:   "attaches and detaches simulated volumes, as the attacher of a CSI driver does (not one of upstream's)",
		Watches: []string{"volumeattachments", "persistentvolumes", "persistentvolumeclaims", "storageclasses", "csidrivers"},
		Writes:  []string{"volumeattachments", "volumeattachments/status"},
		Docs:    "concepts/storage/volumes/#csi",
		Build:   build,
	}
}

// Controller attaches simulated volumes. Its keys are attachments.
type Controller struct {
	client      kubernetes.Interface
	clock       clock.Clock
	attachments volumeindex.Attachments
	volumes     volumeindex.Volumes
	claims      volumeindex.Claims
	classes     cache.Store
	drivers     cache.Store
	attempts    attempts
}

func build(p *controller.Parts) error {
	attachments, volumes, claims := p.Informers.VolumeAttachments().Informer(), p.Informers.PersistentVolumes().Informer(), p.Informers.PersistentVolumeClaims().Informer()
	classes, drivers := p.Informers.StorageClasses().Informer(), p.Informers.CSIDrivers().Informer()
	c := &Controller{client: p.Client, clock: p.Clock, classes: classes.GetStore(), drivers: drivers.GetStore()}
	var err error
	if c.attachments, err = volumeindex.NewAttachments(attachments.GetIndexer()); err != nil {
		return err
	}
	if c.volumes, err = volumeindex.NewVolumes(volumes.GetIndexer()); err != nil {
		return err
	}
	if c.claims, err = volumeindex.NewClaims(claims.GetIndexer()); err != nil {
		return err
	}
	l := p.Loop(c)
	l.Watch(attachments, loop.Self)
	// The loop waits for the objects that an attachment depends on. Changed annotations count at
	// the next attempt.
	l.Watch(volumes, loop.None)
	l.Watch(claims, loop.None)
	l.Watch(classes, c.onClass)
	l.Watch(drivers, c.onDriver)
	return nil
}

// onDriver enqueues the attachments of a driver, which may be simulated from now on.
func (c *Controller) onDriver(ev loop.Event) []types.NamespacedName {
	return c.waiting(func(a *storagev1.VolumeAttachment) bool { return a.Spec.Attacher == ev.Object.GetName() })
}

// onClass enqueues the attachments of the volumes of a class, which may be simulated from now on.
func (c *Controller) onClass(ev loop.Event) []types.NamespacedName {
	return c.waiting(func(a *storagev1.VolumeAttachment) bool {
		volume := c.volumes.Get(volumeindex.VolumeOf(a))
		return volume != nil && volume.Spec.StorageClassName == ev.Object.GetName()
	})
}

// waiting returns the keys of the attachments for which something is to be done.
func (c *Controller) waiting(is func(a *storagev1.VolumeAttachment) bool) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, a := range c.attachments.All() {
		if (!a.Status.Attached || a.DeletionTimestamp != nil) && is(a) {
			keys = append(keys, loop.KeyOf(a))
		}
	}
	return keys
}

// subject returns an attachment with the objects that it depends on.
func (c *Controller) subject(a *storagev1.VolumeAttachment) *decide.Subject {
	s := &decide.Subject{Attachment: a, Volume: c.volumes.Get(volumeindex.VolumeOf(a)), Driver: cached[storagev1.CSIDriver](c.drivers, a.Spec.Attacher)}
	if s.Volume == nil {
		return s
	}
	s.Class = cached[storagev1.StorageClass](c.classes, s.Volume.Spec.StorageClassName)
	if ref := s.Volume.Spec.ClaimRef; ref != nil {
		s.Claim = c.claims.Get(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	return s
}

// cached returns an object of a cache; nil: it is not there.
func cached[T any](store cache.Store, name string) *T {
	o, _, _ := store.GetByKey(name) // the lookup by a key does not fail
	object, _ := o.(*T)
	return object
}

// Reconcile attaches or detaches a volume if that is due.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	a := c.attachments.Get(key.Name)
	if a == nil {
		c.attempts.end(key.Name)
		return loop.Result{}, nil
	}
	s := c.subject(a)
	verb := decide.Due(s)
	if verb == decide.Nothing {
		c.attempts.end(key.Name)
		return loop.Result{}, nil
	}
	held, err := c.addFinalizer(ctx, a)
	if err != nil {
		return loop.Result{}, err
	}
	now := c.clock.Now()
	delay, failure := decide.Simulation(s, verb)
	if left := c.attempts.left(a, verb, delay, now); left > 0 {
		return loop.Result{RequeueAfter: left, Postponed: true}, nil
	}
	if failure != "" {
		return loop.Result{RequeueAfter: c.attempts.fail(key.Name, now)}, c.fail(ctx, held, verb, failure, now)
	}
	c.attempts.end(key.Name)
	if verb == decide.Detach {
		return loop.Result{}, c.release(ctx, held)
	}
	return loop.Result{}, c.attached(ctx, held)
}

// addFinalizer adds the attacher's finalizer to an attachment.
func (c *Controller) addFinalizer(ctx context.Context, a *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, error) {
	finalizer := decide.Finalizer(a.Spec.Attacher)
	if slices.Contains(a.Finalizers, finalizer) {
		return a, nil
	}
	held := a.DeepCopy()
	held.Finalizers = append(held.Finalizers, finalizer)
	return wrote(c.client.StorageV1().VolumeAttachments().Update(ctx, held, metav1.UpdateOptions{}))
}

// release lets an attachment go whose volume is detached.
func (c *Controller) release(ctx context.Context, a *storagev1.VolumeAttachment) error {
	released := a.DeepCopy()
	finalizer := decide.Finalizer(a.Spec.Attacher)
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(f string) bool { return f == finalizer })
	_, err := wrote(c.client.StorageV1().VolumeAttachments().Update(ctx, released, metav1.UpdateOptions{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// attached marks an attachment as attached.
func (c *Controller) attached(ctx context.Context, a *storagev1.VolumeAttachment) error {
	changed := a.DeepCopy()
	changed.Status = storagev1.VolumeAttachmentStatus{Attached: true}
	return c.writeStatus(ctx, changed)
}

// fail writes why an attempt has failed.
func (c *Controller) fail(ctx context.Context, a *storagev1.VolumeAttachment, verb decide.Verb, why string, now time.Time) error {
	changed := a.DeepCopy()
	if verb == decide.Detach {
		changed.Status.DetachError = decide.Failed(why, now)
	} else {
		changed.Status.AttachError = decide.Failed(why, now)
	}
	return c.writeStatus(ctx, changed)
}

func (c *Controller) writeStatus(ctx context.Context, a *storagev1.VolumeAttachment) error {
	_, err := wrote(c.client.StorageV1().VolumeAttachments().UpdateStatus(ctx, a, metav1.UpdateOptions{}))
	return err
}

func wrote(a *storagev1.VolumeAttachment, err error) (*storagev1.VolumeAttachment, error) {
	if err != nil {
		return nil, fmt.Errorf("writing a VolumeAttachment: %w", err)
	}
	return a, nil
}
