package verbs

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
)

// serveDelete serves DELETE on one object.
func serveDelete(ctx context.Context, rq *Call) error {
	opts, err := rq.DeleteOptions()
	if err != nil {
		return err
	}
	if ptr.Deref(opts.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return rq.deleteUnreadable(ctx, opts)
	}
	rq.warnOfOrphans(opts)
	obj, gone, err := rq.Delete(ctx, opts)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if !gone && opts.OrphanDependents != nil && !*opts.OrphanDependents { // old clients send it
		code = http.StatusAccepted
	}
	return rq.answerDelete(code, obj, gone)
}

// unsafeDelete is the verb that a user needs, beside delete, to delete an object that cannot be read.
const unsafeDelete = "unsafe-delete-ignore-read-errors"

// deleteUnreadable deletes an object that cannot be read, without admission, preconditions and
// finalizers, which need the object (KEP-3926).
func (rq *Call) deleteUnreadable(ctx context.Context, opts *metav1.DeleteOptions) error {
	rq.Audit.Annotate(rq.HTTP.Context(), "apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	if reason, err := rq.backend.Authorize(ctx, rq, unsafeDelete); err != nil {
		return upstream.NewForbidden(rq.Attributes(admission.Delete, nil, nil, false).Record(), fmt.Errorf("not permitted to do %q, reason: %s", unsafeDelete, reason))
	}
	if err := rq.Objects.RemoveUnreadable(ctx, rq.Key(), rq.Name, request.IsDryRun(opts.DryRun)); err != nil {
		return err
	}
	return rq.WriteObject(http.StatusOK, response.StatusKind, &metav1.Status{
		Status: metav1.StatusSuccess, Code: http.StatusOK, Details: &metav1.StatusDetails{Name: rq.Name, Kind: rq.Row.Kind},
	})
}

// warnOfOrphans warns that a deletion orphans dependents although no policy was given.
func (rq *Call) warnOfOrphans(opts *metav1.DeleteOptions) {
	if rq.Row.Strategy.DeleteWarning != "" && opts.PropagationPolicy == nil && opts.OrphanDependents == nil { // old clients send it
		response.Warn(rq.Writer, rq.Row.Strategy.DeleteWarning)
	}
}

// answerDelete responds with the object while it waits for its finalizers or grace
// period, and with its kind's response once it is deleted.
func (rq *Call) answerDelete(code int, obj runtime.Object, gone bool) error {
	if !gone || rq.Row.Strategy.ReturnDeleted {
		return rq.WriteResult(code, obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return rq.WriteObject(code, response.StatusKind, &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: m.GetName(), Group: rq.GVR.Group, Kind: rq.GVR.Resource, UID: m.GetUID()},
	})
}

// Delete deletes one object, or marks it as being deleted if it has finalizers or a
// grace period. It returns the object's last state, and whether it is gone. An object of a kind
// with grace periods is marked before it is deleted, too: that is two writes, as upstream.
func (rq *Call) Delete(ctx context.Context, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	var d strategy.Deletion
	change := func(stored runtime.Object) (runtime.Object, error) {
		old := rq.FromStored(stored)
		err := rq.checkPreconditions(old, opts.Preconditions)
		if err != nil {
			return nil, err
		}
		if d, err = strategy.Delete(rq.Row, old, opts, rq.backend.Preparer.Now()); err != nil {
			return nil, err
		}
		if !d.Marked && !d.Gone { // as upstream, admission does not see a delete that changes nothing
			return stored, nil
		}
		if rq.options.Deletion, err = rq.shownDeletion(opts, old, d.Object); err != nil {
			return nil, err
		}
		if err = rq.admitDelete(ctx, old, request.IsDryRun(opts.DryRun)); err != nil {
			return nil, err
		}
		if d.Marked {
			return rq.ToStored(d.Object), nil
		}
		return rq.ToStored(d.Object), storage.ErrDelete
	}
	dryRun := request.IsDryRun(opts.DryRun)
	result, err := rq.updateForDelete(ctx, change, storage.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return nil, false, err
	}
	if d.Marked && d.Gone && !dryRun {
		return rq.deleteMarked(ctx, result, opts)
	}
	return rq.FromStored(result.Object), d.Gone, nil
}

// deleteMarked deletes an object that has just been marked, whatever has changed it since.
func (rq *Call) deleteMarked(ctx context.Context, marking storage.Result, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	marked := rq.FromStored(marking.Object)
	if p := opts.Preconditions; p != nil && p.ResourceVersion != nil {
		opts = opts.DeepCopy()
		opts.Preconditions.ResourceVersion = ptr.To(request.ResourceVersionOf(marked))
	}
	result, err := rq.updateForDelete(ctx, func(stored runtime.Object) (runtime.Object, error) {
		current := rq.FromStored(stored)
		if err := rq.checkPreconditions(current, opts.Preconditions); err != nil {
			return nil, err
		}
		if err := rq.admitDelete(ctx, current, false); err != nil {
			return nil, err
		}
		return stored, storage.ErrDelete
	}, storage.UpdateOptions{After: &marking})
	if apierrors.IsNotFound(err) {
		return marked, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return rq.FromStored(result.Object), true, nil
}

func (rq *Call) updateForDelete(ctx context.Context, change storage.Change, opts storage.UpdateOptions) (storage.Result, error) {
	result, err := rq.Objects.Update(ctx, rq.Key(), rq.Name, change, opts)
	if err == nil && !opts.DryRun && !result.Unchanged {
		rq.RecordWrite(result)
	}
	return result, err
}

// shownDeletion returns the options of a delete as admission sees them: as upstream, the delete of one
// object has the grace period that it begins or shortens.
func (rq *Call) shownDeletion(opts *metav1.DeleteOptions, old, marked runtime.Object) (*metav1.DeleteOptions, error) {
	if rq.Row.Strategy.GracePeriod == nil || rq.Verb == request.VerbDeleteCollection {
		return opts, nil
	}
	before, err := meta.Accessor(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, err := meta.Accessor(marked)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if grace := after.GetDeletionGracePeriodSeconds(); grace != nil && !ptr.Equal(grace, before.GetDeletionGracePeriodSeconds()) {
		opts = opts.DeepCopy()
		opts.GracePeriodSeconds = ptr.To(*grace)
	}
	return opts, nil
}

// admitDelete passes a delete to admission.
func (rq *Call) admitDelete(ctx context.Context, old runtime.Object, dryRun bool) error {
	if rq.Sub != nil { // the create of a deleting subresource (an eviction) has been admitted already
		return nil
	}
	return rq.backend.Admission.Check(ctx, rq.Attributes(admission.Delete, nil, old, dryRun))
}

func (rq *Call) checkPreconditions(obj runtime.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if p.UID != nil && *p.UID != m.GetUID() {
		return rq.unmet("UID", *p.UID, m.GetUID(), "The object might have been deleted and then recreated")
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return rq.unmet("ResourceVersion", *p.ResourceVersion, m.GetResourceVersion(), "The object might have been modified")
	}
	return nil
}

// unmet returns the error for a precondition with another value than the object has.
func (rq *Call) unmet(what string, wanted, is any, reason string) error {
	if prefix := rq.Row.Strategy.Unmet; prefix != "" {
		return apierrors.NewConflict(rq.Row.GroupResource(), rq.Name, fmt.Errorf("%s: %s in precondition: %v, %s in object meta: %v", prefix, what, wanted, what, is))
	}
	// Upstream puts the kind here where other errors have the resource.
	kind := schema.GroupResource{Group: rq.Row.Group, Resource: rq.Row.Kind}
	return apierrors.NewConflict(kind, rq.Name, fmt.Errorf("the %s in the precondition (%v) does not match the %s in record (%v). %s", what, wanted, what, is, reason))
}

// serveDeleteCollection serves DELETE on a collection: it deletes each selected object
// individually. The response has the objects as they were before.
func serveDeleteCollection(ctx context.Context, rq *Call) error {
	deleteOpts, err := rq.DeleteOptions()
	if err != nil {
		return err
	}
	if ptr.Deref(deleteOpts.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", field.ErrorList{
			field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"), true, "is not allowed with DELETECOLLECTION, try again after removing the option"),
		})
	}
	listOpts, err := rq.ListOptions()
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
	deleted := make([]runtime.Object, 0, len(page.Objects))
	for _, obj := range page.Objects {
		m, err := meta.Accessor(obj)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		one := *rq
		one.Namespace, one.Name = m.GetNamespace(), m.GetName()
		if _, _, err = one.Delete(ctx, deleteOpts); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		deleted = append(deleted, obj)
	}
	return rq.WriteList(&request.Page{Meta: page.Meta, Objects: deleted})
}
