package volumeprovisioner

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is the controller's name. Upstream has no such controller.
const Name = "simulated-volume-provisioner"

// retryDelay is the delay after a failed provisioning or deletion, the first one of upstream's
// external provisioners.
const retryDelay = 15 * time.Second

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		// One worker, so that two claims never get the same capacity.
		Name: Name, Account: "persistent-volume-binder",
		About:   "creates, expands and deletes the volumes of simulated StorageClasses (not one of upstream's)",
		Watches: []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses", "volumeattachments", "nodes"},
		Writes:  []string{"persistentvolumes", "persistentvolumeclaims", "persistentvolumeclaims/status"},
		Docs:    "concepts/storage/dynamic-provisioning/",
		Build:   build,
	}
}

// Controller provisions volumes. Its keys are claims, and volumes, whose namespace is empty.
type Controller struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	clock    clock.Clock
	claims   volumeindex.Claims
	volumes  cache.Store
	// attachments are the VolumeAttachments. A volume is deleted only when it has none.
	attachments volumeindex.Attachments
	nodes       corelisters.NodeLister
	classes     storagelisters.StorageClassLister
	// begun has the claims whose provisioning has begun. Only the worker uses it.
	begun map[types.NamespacedName]beginning
}

// beginning is the time at which the provisioning for a claim began.
type beginning struct {
	claim types.UID
	at    time.Time
}

func build(p *controller.Parts) error {
	classes := p.Informers.StorageClasses()
	c := &Controller{
		client: p.Client, recorder: p.Recorder.For(decide.Provisioner), clock: p.Clock, begun: map[types.NamespacedName]beginning{},
		volumes: p.Informers.PersistentVolumes().Informer().GetStore(), nodes: p.Informers.Nodes().Lister(), classes: classes.Lister(),
	}
	var err error
	if c.claims, err = volumeindex.NewClaims(p.Informers.PersistentVolumeClaims().Informer().GetIndexer()); err != nil {
		return err
	}
	attachments := p.Informers.VolumeAttachments().Informer()
	if c.attachments, err = volumeindex.NewAttachments(attachments.GetIndexer()); err != nil {
		return err
	}
	l := p.Loop(c)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), loop.Self)
	l.Watch(p.Informers.PersistentVolumes().Informer(), c.onVolume)
	l.Watch(classes.Informer(), c.onClass)
	l.Watch(attachments, onAttachment)
	// The loop waits for the nodes, whose labels the volumes of some classes depend on.
	l.Watch(p.Informers.Nodes().Informer(), loop.None)
	return nil
}

// onVolume wakes a released volume. A deleted one leaves capacity to the claims of its class.
func (c *Controller) onVolume(ev loop.Event) []types.NamespacedName {
	volume, ok := ev.Object.(*corev1.PersistentVolume)
	switch {
	case !ok:
		return nil
	case ev.Type == loop.Deleted:
		return c.waiting(storagehelpers.GetPersistentVolumeClass(volume))
	case volume.Status.Phase == corev1.VolumeReleased:
		return loop.Self(ev)
	}
	return nil
}

// onAttachment wakes the volume of an attachment that is gone.
func onAttachment(ev loop.Event) []types.NamespacedName {
	attachment, ok := ev.Object.(*storagev1.VolumeAttachment)
	if !ok || ev.Type != loop.Deleted || volumeindex.VolumeOf(attachment) == "" {
		return nil
	}
	return []types.NamespacedName{{Name: volumeindex.VolumeOf(attachment)}}
}

// onClass wakes the claims and the released volumes of a class.
func (c *Controller) onClass(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Deleted {
		return nil
	}
	keys := c.waiting(ev.Object.GetName())
	var released []string
	for _, o := range c.volumes.List() {
		volume, ok := o.(*corev1.PersistentVolume)
		if ok && volume.Status.Phase == corev1.VolumeReleased && storagehelpers.GetPersistentVolumeClass(volume) == ev.Object.GetName() {
			released = append(released, volume.Name)
		}
	}
	slices.Sort(released)
	for _, name := range released {
		keys = append(keys, types.NamespacedName{Name: name})
	}
	return keys
}

// waiting returns the keys of the claims of a class without a volume.
func (c *Controller) waiting(class string) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, claim := range c.claims.Unbound(class) {
		keys = append(keys, loop.KeyOf(claim))
	}
	return keys
}

// Reconcile creates or expands the volume for a claim, or deletes a volume.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	if key.Namespace == "" {
		return c.reconcileVolume(ctx, key.Name)
	}
	claim := c.claims.Get(key)
	if claim == nil {
		delete(c.begun, key)
		return loop.Result{}, nil
	}
	class, err := c.class(storagehelpers.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return loop.Result{}, err
	}
	if volume := c.volume(claim.Spec.VolumeName); decide.Expands(claim, volume, class) {
		return c.expand(ctx, claim, volume, class)
	}
	if !decide.Wanted(claim, class) {
		delete(c.begun, key)
		return loop.Result{}, nil
	}
	return c.provision(ctx, claim, class)
}

// class returns a class; nil: it does not exist.
func (c *Controller) class(name string) (*storagev1.StorageClass, error) {
	class, err := c.classes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting StorageClass %s: %w", name, err)
	}
	return class, nil
}
