package served

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/apiserver/internal/watchcache"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// cleanLocked starts deleting the objects of a definition that is being deleted.
func (d *Definitions) cleanLocked(kind *customKind) {
	if kind.cleaning || !crd.NeedsCleanup(kind.definition) {
		return
	}
	kind.cleaning = true
	name := kind.definition.Name
	if d.stopped {
		return
	}
	gate := inflight.NewGate(d.opts.Ledger, inflight.Request, "definitions", name) // the request that caused it is still in flight
	d.goLocked(func(ctx context.Context) { d.clean(ctx, name, gate) })
}

// clean deletes the objects of a definition, waits for their finalizers, and then
// removes the definition's finalizer. The work of gate is in flight except while clean waits, and
// writes in its turn; clean ends it.
func (d *Definitions) clean(ctx context.Context, name string, gate *inflight.Gate) {
	defer gate.Leave()
	for gate.Yield(ctx) == nil {
		err := d.tryClean(ctx, name, gate)
		if err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		d.opts.Logger.Error(err, "Deleting the objects of a CustomResourceDefinition", "name", name)
		if inflight.Sleep(inflight.WithPauser(ctx, gate), d.opts.Clock, retryDelay) != nil {
			return
		}
	}
}

func (d *Definitions) tryClean(ctx context.Context, name string, gate *inflight.Gate) error {
	if err := d.opts.Writer.UpdateDefinition(ctx, name, func(definition *apiextensionsv1.CustomResourceDefinition) {
		crd.Emptying(definition, strategy.Seconds(d.opts.Clock))
	}); err != nil {
		return err
	}
	if kind := d.find(name); kind != nil && kind.objects != nil {
		if err := d.empty(ctx, kind, gate); err != nil {
			return err
		}
	}
	return d.opts.Writer.UpdateDefinition(ctx, name, func(definition *apiextensionsv1.CustomResourceDefinition) {
		crd.Emptied(definition, strategy.Seconds(d.opts.Clock))
	})
}

func (d *Definitions) find(name string) *customKind {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[name]
}

// empty deletes all objects of a kind and returns when none remains.
func (d *Definitions) empty(ctx context.Context, kind *customKind, gate *inflight.Gate) error {
	for {
		left, err := d.emptyOnce(ctx, kind, gate)
		if err != nil || left == 0 {
			return err
		}
		if err := gate.Yield(ctx); err != nil {
			return err
		}
	}
}

// emptyOnce deletes all objects and, if some wait for their finalizers, returns their number when
// one of them is gone.
func (d *Definitions) emptyOnce(ctx context.Context, kind *customKind, gate *inflight.Gate) (left int, err error) {
	watcher, err := kind.objects.Cache().Watch(ctx, watchcache.WatchOptions{
		Prefix: kind.objects.Prefix(""), SendInitialEvents: ptr.To(false),
	})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	if left, err = d.deleteAll(ctx, kind); err != nil || left == 0 {
		return 0, err
	}
	return left, d.awaitDeletion(ctx, watcher, gate)
}

// awaitDeletion waits until an object is deleted. The work of gate pauses meanwhile: the watcher
// counts the events that it has delivered.
func (d *Definitions) awaitDeletion(ctx context.Context, watcher *watchcache.Watcher, gate *inflight.Gate) error {
	for {
		gate.Pause()
		events, err := watcher.Next(ctx)
		gate.Resume()
		if err != nil {
			return err
		}
		for i := range events {
			if events[i].Type == watch.Deleted {
				return nil
			}
		}
	}
}

// deleteAll requests the deletion of every object, and returns the number of objects
// that still wait for their finalizers.
func (d *Definitions) deleteAll(ctx context.Context, kind *customKind) (waiting int, err error) {
	_, all, err := kind.objects.ListAt(ctx, kind.objects.Prefix(""), store.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, obj := range all {
		m, err := meta.Accessor(obj)
		if err != nil {
			return 0, err
		}
		if m.GetDeletionTimestamp() != nil {
			waiting++
			continue
		}
		gone, err := d.opts.Writer.Delete(ctx, kind.rows.Stored, kind.objects, types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && !gone {
			waiting++
		}
	}
	return waiting, nil
}
