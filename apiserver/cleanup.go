package apiserver

import (
	"context"
	"errors"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/crd"
	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/watchcache"
	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/store"
)

// serverName is the user name of the server's own writes.
const serverName = "system:apiserver"

// ownRequest returns a request that the server makes to itself.
func (s *Server) ownRequest(ctx context.Context, row *resources.Resource, objects *storage.Objects, verb string, name types.NamespacedName) *call {
	r := (&http.Request{Method: http.MethodPut, Header: http.Header{"User-Agent": {"kube-apiserver"}}}).WithContext(ctx)
	return &call{server: s, Request: request.Request{
		Info: request.Info{Verb: verb, GVR: row.GVR(), Namespace: name.Namespace, Name: name.Name},
		Env:  s.env, HTTP: r, Row: row, Objects: objects, Local: true,
		User: &auth.User{Name: serverName, Groups: []string{auth.GroupMasters}},
	}}
}

var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// forbidCreate rejects new objects of a custom kind whose definition is being deleted.
type forbidCreate struct{ server *Server }

// Mutate rejects such a create.
func (f forbidCreate) Mutate(_ context.Context, a *admission.Attributes) error {
	if a.Operation != admission.Create || !a.Resource.Custom {
		return nil
	}
	if kind := f.server.current().custom[a.Resource]; kind == nil || !kind.terminating.Load() {
		return nil
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errTerminating)
}

// cleanLocked starts deleting the objects of a definition that is being deleted.
func (d *definitions) cleanLocked(kind *customKind) {
	if kind.cleaning || !crd.NeedsCleanup(kind.definition) {
		return
	}
	kind.cleaning = true
	name := kind.definition.Name
	if d.stopped {
		return
	}
	work := inflight.Begin(d.server.opts.Ledger, inflight.Request) // the request that caused it is still in flight
	d.goLocked(func(ctx context.Context) { d.clean(ctx, name, work) })
}

// clean deletes the objects of a definition, waits for their finalizers, and then
// removes the definition's finalizer. work is in flight except while clean waits; clean
// ends it.
func (d *definitions) clean(ctx context.Context, name string, work *inflight.Work) {
	defer work.End()
	for {
		err := d.tryClean(ctx, name, work)
		if err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		d.server.opts.Logger.Error(err, "Deleting the objects of a CustomResourceDefinition", "name", name)
		if inflight.Sleep(inflight.With(ctx, work), d.server.opts.Clock, retryDelay) != nil {
			return
		}
	}
}

func (d *definitions) tryClean(ctx context.Context, name string, work *inflight.Work) error {
	if err := d.change(ctx, name, func(definition *apiextensionsv1.CustomResourceDefinition) {
		crd.Emptying(definition, d.server.preparer.Now())
	}); err != nil {
		return err
	}
	if kind := d.find(name); kind != nil && kind.objects != nil {
		if err := d.empty(ctx, kind, work); err != nil {
			return err
		}
	}
	return d.change(ctx, name, func(definition *apiextensionsv1.CustomResourceDefinition) {
		crd.Emptied(definition, d.server.preparer.Now())
	})
}

func (d *definitions) find(name string) *customKind {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[name]
}

// empty deletes all objects of a kind and returns when none remains.
func (d *definitions) empty(ctx context.Context, kind *customKind, work *inflight.Work) error {
	left, err := d.deleteAll(ctx, kind)
	if err != nil || left == 0 {
		return err
	}
	watcher, err := kind.objects.Cache().Watch(ctx, watchcache.WatchOptions{
		Prefix: kind.objects.Prefix(""), SendInitialEvents: ptr.To(false),
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for { // the watch does not show deletions before its start
		if left, err = d.deleteAll(ctx, kind); err != nil || left == 0 {
			return err
		}
		if err := d.awaitDeletion(ctx, watcher, work); err != nil {
			return err
		}
	}
}

// awaitDeletion waits until an object is deleted. work pauses meanwhile: the watcher
// counts the events that it has delivered.
func (d *definitions) awaitDeletion(ctx context.Context, watcher *watchcache.Watcher, work *inflight.Work) error {
	for {
		work.Pause()
		events, err := watcher.Next(ctx)
		work.Resume()
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
func (d *definitions) deleteAll(ctx context.Context, kind *customKind) (waiting int, err error) {
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
		rq := d.server.ownRequest(ctx, kind.rows.Stored, kind.objects, request.VerbDelete, types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()})
		_, gone, err := rq.delete(ctx, &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && !gone {
			waiting++
		}
	}
	return waiting, nil
}
