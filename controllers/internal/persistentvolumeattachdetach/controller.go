package persistentvolumeattachdetach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/pflag"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/bynode"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/csivolume"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and eventSource its name in events.
const (
	Name        = "persistentvolume-attach-detach-controller"
	eventSource = "attachdetach-controller"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		// One worker, as upstream: the report of a node has the decisions about all its volumes.
		Name: Name, Aliases: []string{"attachdetach"}, Account: "attachdetach-controller",
		About:   "attaches the volumes of CSI drivers to the nodes of the pods that use them, and detaches them",
		Watches: []string{"pods", "nodes", "persistentvolumes", "persistentvolumeclaims", "volumeattachments", "csidrivers"},
		Writes:  []string{"volumeattachments", "nodes/status"},
		Docs:    "concepts/storage/persistent-volumes/",
		Defaults: func(s *controller.Settings) {
			s.AttachDetachController.ReconcilerSyncLoopPeriod.Duration = time.Minute
		},
		Flags: flags,
		Build: build,
	}
}

// Controller attaches volumes. Its keys are volumes, whose namespace is empty, and nodes.
type Controller struct {
	// noForce disables the forced detachment of a volume that a node has had in use for too long.
	noForce     bool
	api         api
	recorder    record.EventRecorder
	clock       passiveClock
	volumes     volumeindex.Volumes
	claims      volumeindex.Claims
	pods        volumeindex.Pods
	podsByNode  podsByNode
	attachments volumeindex.Attachments
	nodes       cache.Store
	drivers     cache.Store

	// progress carries state from one decision to the next, by volume and node. Only the worker uses it.
	progress map[string]map[string]decide.Progress

	mu sync.Mutex
	// created are the attachments that the cache does not have yet, and detaching those that are
	// being deleted and are not reported any more, by name.
	created   map[string]*storagev1.VolumeAttachment
	detaching map[string]types.UID
}

type passiveClock interface{ Now() time.Time }

// caches holds the informers' caches.
type caches struct {
	volumes, claims, pods, attachments cache.Indexer
	nodes, drivers                     cache.Store
}

func build(p *controller.Parts) error {
	byNode, err := bynode.New(p.Informers.Pods().Informer())
	if err != nil {
		return err
	}
	c, err := newController(clientAPI{p.Client}, p.Recorder.For(eventSource), p.Clock, byNode, caches{
		volumes: p.Informers.PersistentVolumes().Informer().GetIndexer(), claims: p.Informers.PersistentVolumeClaims().Informer().GetIndexer(),
		pods: p.Informers.Pods().Informer().GetIndexer(), attachments: p.Informers.VolumeAttachments().Informer().GetIndexer(),
		nodes: p.Informers.Nodes().Informer().GetStore(), drivers: p.Informers.CSIDrivers().Informer().GetStore(),
	})
	if err != nil {
		return err
	}
	c.noForce = p.Settings.AttachDetachController.DisableForceDetachOnTimeout
	l := p.Loop(c)
	l.Watch(p.Informers.Pods().Informer(), c.onPod)
	l.Watch(p.Informers.PersistentVolumes().Informer(), c.onVolume)
	l.Watch(p.Informers.PersistentVolumeClaims().Informer(), c.onClaim)
	l.Watch(p.Informers.VolumeAttachments().Informer(), c.onAttachment, c.seeAttachment)
	l.Watch(p.Informers.Nodes().Informer(), c.onNode)
	// The loop waits for the drivers, which may require no attachment.
	l.Watch(p.Informers.CSIDrivers().Informer(), loop.None)
	return nil
}

// flags adds upstream's flags. The first two have no effect: the controller acts on each
// change of an attachment, and needs no passes to find it.
func flags(fs *pflag.FlagSet, s *controller.Settings) {
	c := &s.AttachDetachController
	fs.BoolVar(&c.DisableAttachDetachReconcilerSync, "disable-attach-detach-reconcile-sync", c.DisableAttachDetachReconcilerSync, "accepted without effect: attachments are not compared periodically")
	fs.DurationVar(&c.ReconcilerSyncLoopPeriod.Duration, "attach-detach-reconcile-sync-period", c.ReconcilerSyncLoopPeriod.Duration, "accepted without effect: attachments are not compared periodically")
	fs.BoolVar(&c.DisableForceDetachOnTimeout, "disable-force-detach-on-timeout", c.DisableForceDetachOnTimeout, "never detach a volume that a node has in use because of the time that has passed")
}

func newController(api api, recorder record.EventRecorder, clock passiveClock, byNode podsByNode, from caches) (*Controller, error) {
	c := &Controller{
		api: api, recorder: recorder, clock: clock, podsByNode: byNode, nodes: from.nodes, drivers: from.drivers,
		progress: map[string]map[string]decide.Progress{}, detaching: map[string]types.UID{}, created: map[string]*storagev1.VolumeAttachment{},
	}
	var err error
	if c.volumes, err = volumeindex.NewVolumes(from.volumes); err != nil {
		return nil, err
	}
	if c.claims, err = volumeindex.NewClaims(from.claims); err != nil {
		return nil, err
	}
	if c.pods, err = volumeindex.NewPods(from.pods); err != nil {
		return nil, err
	}
	c.attachments, err = volumeindex.NewAttachments(from.attachments)
	return c, err
}

// Reconcile attaches and detaches a volume, or corrects the volumes that a node reports as attached.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	if key.Namespace == ofNode {
		return loop.Result{}, c.reconcileNode(ctx, key.Name)
	}
	v := c.gather(key.Name)
	if v == nil {
		delete(c.progress, key.Name)
		return loop.Result{}, nil
	}
	now := c.clock.Now()
	d := decide.Decide(v, now)
	c.progress[key.Name] = d.Progress
	for _, e := range d.Events {
		c.recorder.Event(e.Pod, e.Type, e.Reason, e.Message)
	}
	for _, detach := range d.Detach {
		if err := c.detach(ctx, v, detach); err != nil {
			return loop.Result{}, fmt.Errorf("detaching volume %s from node %s: %w", key.Name, detach.Node, err)
		}
	}
	for _, node := range d.Attach {
		if err := c.attach(ctx, v, node); err != nil {
			return loop.Result{}, fmt.Errorf("attaching volume %s to node %s: %w", key.Name, node, err)
		}
	}
	if d.Next.IsZero() {
		return loop.Result{}, nil
	}
	return loop.Result{RequeueAfter: d.Next.Sub(now)}, nil
}

// attach creates the attachment of a volume to a node. Until the cache has it, the controller
// remembers it: another node must not get the volume meanwhile.
//
//	attach to A       the attachment is created, the cache does not have it yet
//	the pod moves     from A to B, and the volume is reconciled again
//	without created   the cache has no attachment to A, and B would get one, too
func (c *Controller) attach(ctx context.Context, v *decide.Volume, node string) error {
	source, volume := v.PersistentVolume.Spec.CSI, v.PersistentVolume.Name
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: csivolume.AttachmentName(source, node)},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: source.Driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
	created, err := c.api.Create(ctx, attachment)
	if apierrors.IsAlreadyExists(err) {
		created, err = attachment, nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created[created.Name] = created
	return nil
}
