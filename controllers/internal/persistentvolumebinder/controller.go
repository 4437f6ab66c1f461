package persistentvolumebinder

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder/decide"
	"minikcm.dev/minikcm/controllers/internal/volumeindex"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and eventSource upstream's source of its events.
const (
	Name        = "persistentvolume-binder-controller"
	eventSource = "persistentvolume-controller"
)

// maxSteps exceeds the number of writes that a claim or a volume needs.
const maxSteps = 12

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		// One worker, where upstream has two, one for claims and one for volumes: the decisions about
		// both depend on each other.
		Name: Name, Aliases: []string{"persistentvolume-binder"}, Account: "persistent-volume-binder",
		About:   "binds claims to volumes, and reclaims volumes whose claim is gone",
		Watches: []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses", "pods"},
		Writes:  []string{"persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes", "persistentvolumes/status", "pods"},
		Docs:    "concepts/storage/persistent-volumes/#binding",
		Build:   build,
	}
}

// Controller binds claims. Its keys are claims, and volumes, whose namespace is empty.
type Controller struct {
	writer   executor.Writer
	recorder record.EventRecorder
	claims   volumeindex.Claims
	volumes  volumeindex.Volumes
	pods     volumeindex.Pods
	classes  cache.Store
}

func build(p *controller.Parts) error {
	claims, volumes := p.Informers.PersistentVolumeClaims().Informer(), p.Informers.PersistentVolumes().Informer()
	classes := p.Informers.StorageClasses().Informer()
	pods := p.Informers.Pods().Informer()
	c, err := newController(executor.NewWriter(p.Client), p.Recorder.For(eventSource), caches{claims.GetIndexer(), volumes.GetIndexer(), classes.GetIndexer(), pods.GetIndexer()})
	if err != nil {
		return err
	}
	l := p.Loop(c)
	l.Watch(claims, c.onClaim)
	l.Watch(volumes, c.onVolume)
	l.Watch(classes, c.onClass)
	l.Watch(pods, c.onPod)
	return nil
}

// caches holds the informers' caches.
type caches struct{ claims, volumes, classes, pods cache.Indexer }

func newController(writer executor.Writer, recorder record.EventRecorder, of caches) (*Controller, error) {
	c := &Controller{writer: writer, recorder: recorder, classes: of.classes}
	var err error
	if c.claims, err = volumeindex.NewClaims(of.claims); err != nil {
		return nil, err
	}
	if c.volumes, err = volumeindex.NewVolumes(of.volumes); err != nil {
		return nil, err
	}
	if c.pods, err = volumeindex.NewPods(of.pods); err != nil {
		return nil, err
	}
	return c, nil
}

// Reconcile takes the steps of a claim or a volume until none is left. A conflict is an error:
// the change of a volume that is bound to another claim does not wake this one.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	s := newSnapshot(c)
	for range maxSteps {
		step, err := c.next(ctx, s, key)
		if err != nil {
			return loop.Result{}, err
		}
		if step.Write != decide.Nothing {
			if err := c.write(ctx, s, step); err != nil {
				return loop.Result{}, fmt.Errorf("binding %s: %w", describe(key), err)
			}
		}
		for _, e := range step.Events {
			c.recorder.Event(e.About, e.Type, e.Reason, e.Message)
		}
		if step.Write == decide.Nothing || step.Write == decide.Delete {
			return loop.Result{}, nil
		}
	}
	return loop.Result{}, fmt.Errorf("binding %s: it is not done after %d writes", describe(key), maxSteps)
}

func (c *Controller) next(ctx context.Context, s *snapshot, key types.NamespacedName) (decide.Step, error) {
	if key.Namespace == "" {
		return s.nextOfVolume(ctx, key.Name)
	}
	claimed, err := s.claimed(ctx, key)
	if err != nil || claimed.Claim == nil {
		return decide.Step{}, err
	}
	return decide.Claim(claimed)
}

// write makes the write of a step, and keeps the result for the next step.
func (c *Controller) write(ctx context.Context, s *snapshot, step decide.Step) error {
	sub := ""
	switch step.Write {
	case decide.Delete:
		return c.writer.Delete(ctx, step.Object)
	case decide.Create:
		created, err := c.writer.Create(ctx, step.Object)
		if err == nil {
			s.keep(created)
		}
		return err
	case decide.UpdateStatus:
		sub = "status"
	}
	written, err := c.writer.Update(ctx, step.Object, sub)
	if err != nil {
		return err
	}
	s.keep(written)
	return nil
}

// describe names a key in errors.
func describe(key types.NamespacedName) string {
	if key.Namespace == "" {
		return "volume " + key.Name
	}
	return "claim " + key.String()
}
