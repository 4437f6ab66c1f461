package persistentvolumeattachdetach

import (
	"context"
	"fmt"
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/env"
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

// workers is one, as upstream: the report of a node has the decisions about all its volumes.
const workers = 1

// Options configure the controller.
type Options struct {
	// NoForce disables the forced detachment of a volume that a node has had in use for too long.
	NoForce bool
}

// Controller attaches volumes. Its keys are volumes, whose namespace is empty, and nodes.
type Controller struct {
	opts        Options
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
	loop        loop.Loop

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

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env, opts Options) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	byNode, err := bynode.New(e.Informers.Pods().Informer())
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	c, err := newController(clientAPI{client}, e.Recorder.For(eventSource), e.Clock, byNode, caches{
		volumes: e.Informers.PersistentVolumes().Informer().GetIndexer(), claims: e.Informers.PersistentVolumeClaims().Informer().GetIndexer(),
		pods: e.Informers.Pods().Informer().GetIndexer(), attachments: e.Informers.VolumeAttachments().Informer().GetIndexer(),
		nodes: e.Informers.Nodes().Informer().GetStore(), drivers: e.Informers.CSIDrivers().Informer().GetStore(),
	})
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", Name, err)
	}
	c.opts = opts
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(e.Informers.Pods().Informer(), c.onPod)
	c.loop.Watch(e.Informers.PersistentVolumes().Informer(), c.onVolume)
	c.loop.Watch(e.Informers.PersistentVolumeClaims().Informer(), c.onClaim)
	c.loop.Watch(e.Informers.VolumeAttachments().Informer(), c.onAttachment, c.seeAttachment)
	c.loop.Watch(e.Informers.Nodes().Informer(), c.onNode)
	// The loop waits for the drivers, which may require no attachment.
	c.loop.Watch(e.Informers.CSIDrivers().Informer(), loop.None)
	return c, nil
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

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

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
