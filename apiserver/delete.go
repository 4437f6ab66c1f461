package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/storage"
)

// serveDelete serves DELETE on one object.
func serveDelete(ctx context.Context, rq *request) error {
	opts, err := rq.deleteOptions()
	if err != nil {
		return err
	}
	rq.warnOfOrphans(opts)
	obj, gone, err := rq.delete(ctx, opts)
	if err != nil {
		return err
	}
	return rq.answerDelete(obj, gone)
}

// warnOfOrphans warns that a deletion orphans dependents although no policy was given.
func (rq *request) warnOfOrphans(opts *metav1.DeleteOptions) {
	if rq.row.Strategy.DeleteWarning != "" && opts.PropagationPolicy == nil && opts.OrphanDependents == nil { // old clients send it
		response.Warn(rq.w, rq.row.Strategy.DeleteWarning)
	}
}

// answerDelete responds with the object while it waits for its finalizers or grace
// period, and with a Status once it is deleted.
func (rq *request) answerDelete(obj runtime.Object, gone bool) error {
	if !gone || rq.row.Strategy.GracePeriod != nil {
		return rq.writeResult(http.StatusOK, obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return rq.writeObject(http.StatusOK, response.StatusKind, &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: m.GetName(), Group: rq.GVR.Group, Kind: rq.GVR.Resource, UID: m.GetUID()},
	})
}

// delete deletes one object, or marks it as being deleted if it has finalizers or a
// grace period. It returns the object's last state, and whether it is gone.
func (rq *request) delete(ctx context.Context, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	change := func(stored runtime.Object) (runtime.Object, error) {
		old := rq.fromStored(stored)
		if err := rq.checkPreconditions(old, opts.Preconditions); err != nil {
			return nil, err
		}
		if rq.sub == nil { // the create of a deleting subresource (an eviction) has been admitted already
			if err := rq.server.admission.Check(ctx, rq.attributes(admission.Delete, nil, old, isDryRun(opts.DryRun))); err != nil {
				return nil, err
			}
		}
		obj, gone, err := rq.markDeleted(old, opts)
		switch {
		case err != nil:
			return nil, err
		case obj == nil:
			return stored, nil
		case gone:
			return rq.toStored(obj), storage.ErrDelete
		}
		return rq.toStored(obj), nil
	}
	result, err := rq.objects.Update(ctx, rq.key(), rq.Name, change, storage.UpdateOptions{DryRun: isDryRun(opts.DryRun)})
	if err != nil {
		return nil, false, err
	}
	if !isDryRun(opts.DryRun) && !result.Unchanged {
		rq.recordWrite(result)
	}
	return rq.fromStored(result.Object), result.Deleted, nil
}

func (rq *request) checkPreconditions(obj runtime.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	// Upstream puts the kind here where other errors have the resource.
	kind := schema.GroupResource{Group: rq.row.Group, Resource: rq.row.Kind}
	if p.UID != nil && *p.UID != m.GetUID() {
		return apierrors.NewConflict(kind, rq.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(kind, rq.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// markDeleted decides what a delete does to an object: delete it (gone, with the last
// state), mark it (the new state), or nothing (nil).
func (rq *request) markDeleted(old runtime.Object, opts *metav1.DeleteOptions) (obj runtime.Object, gone bool, err error) {
	obj = old.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	strategy := rq.row.Strategy
	setPropagationFinalizers(m, strategy.OrphanByDefault, opts)
	grace := int64(0)
	if strategy.GracePeriod != nil {
		grace = strategy.GracePeriod(old, opts.GracePeriodSeconds)
	}
	pending := hasFinalizers(strategy.Finalizing, obj, m)
	if grace == 0 && !pending {
		if strategy.GracePeriod != nil {
			rq.endGrace(m)
		}
		return obj, true, nil
	}
	if m.GetDeletionTimestamp() != nil {
		return rq.shorten(obj, m, grace)
	}
	deletion := metav1.NewTime(rq.server.now().Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if strategy.MarkDeleted != nil {
		strategy.MarkDeleted(obj)
	}
	return obj, false, nil
}

// endGrace sets the deletion timestamp of an object that could have had a grace period
// and is deleted immediately: now, or when an earlier delete began.
func (rq *request) endGrace(m metav1.Object) {
	deletion, none := rq.server.now(), int64(0)
	if begun := m.GetDeletionTimestamp(); begun != nil {
		deletion = *begun
		if seconds := m.GetDeletionGracePeriodSeconds(); seconds != nil {
			deletion = metav1.NewTime(begun.Add(-time.Duration(*seconds) * time.Second))
		}
	} else if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&none)
}

// shorten applies another delete to an object that is already being deleted: it can
// only shorten the grace period.
func (rq *request) shorten(obj runtime.Object, m metav1.Object, grace int64) (runtime.Object, bool, error) {
	current := int64(0)
	if seconds := m.GetDeletionGracePeriodSeconds(); seconds != nil {
		current = *seconds
	}
	if grace >= current {
		return obj, false, nil
	}
	// The deletion timestamp is the end of the grace period and moves with it.
	begun := m.GetDeletionTimestamp().Add(-time.Duration(current) * time.Second)
	deletion := metav1.NewTime(begun.Add(time.Duration(grace) * time.Second))
	m.SetDeletionTimestamp(&deletion)
	m.SetDeletionGracePeriodSeconds(&grace)
	return obj, false, nil
}

// setPropagationFinalizers sets the finalizers for the propagation policy, which the
// garbage collector acts on.
func setPropagationFinalizers(m metav1.Object, orphanByDefault bool, opts *metav1.DeleteOptions) {
	finalizers := slices.Clone(m.GetFinalizers())
	orphan := wantsOrphans(finalizers, orphanByDefault, opts)
	foreground := opts.PropagationPolicy != nil && *opts.PropagationPolicy == metav1.DeletePropagationForeground
	if opts.PropagationPolicy == nil && opts.OrphanDependents == nil { // old clients send it
		foreground = slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	}
	m.SetFinalizers(setFinalizer(setFinalizer(finalizers, metav1.FinalizerOrphanDependents, orphan), metav1.FinalizerDeleteDependents, foreground))
}

func wantsOrphans(finalizers []string, byDefault bool, opts *metav1.DeleteOptions) bool {
	if opts.OrphanDependents != nil { // old clients send it
		return *opts.OrphanDependents // old clients send it
	}
	if opts.PropagationPolicy != nil {
		return *opts.PropagationPolicy == metav1.DeletePropagationOrphan
	}
	if slices.Contains(finalizers, metav1.FinalizerOrphanDependents) {
		return true
	}
	return byDefault && !slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
}

func setFinalizer(finalizers []string, name string, wanted bool) []string {
	i := slices.Index(finalizers, name)
	switch {
	case wanted && i < 0:
		return append(finalizers, name)
	case !wanted && i >= 0:
		return slices.Delete(finalizers, i, i+1)
	}
	return finalizers
}

// serveDeleteCollection serves DELETE on a collection: it deletes each selected object
// individually. The response has the objects as they were before.
func serveDeleteCollection(ctx context.Context, rq *request) error {
	deleteOpts, err := rq.deleteOptions()
	if err != nil {
		return err
	}
	listOpts, err := rq.listOptions()
	if err != nil {
		return err
	}
	if version := listOpts.ResourceVersion; version != "" && version != "0" && listOpts.ResourceVersionMatch == "" {
		// Upstream reads the collection page by page, so the named version is exact.
		listOpts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	page, err := rq.list(ctx, listOpts)
	if err != nil {
		return err
	}
	rq.warnOfOrphans(deleteOpts)
	deleted := make([]runtime.Object, 0, len(page.objects))
	for _, obj := range page.objects {
		m, err := meta.Accessor(obj)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		one := *rq
		one.Namespace, one.Name = m.GetNamespace(), m.GetName()
		_, _, err = one.delete(ctx, deleteOpts)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		deleted = append(deleted, obj)
	}
	page.objects = deleted
	return rq.writeList(page)
}
