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

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/apiserver/strategy"
)

// serveDelete serves DELETE on one object.
func serveDelete(ctx context.Context, rq *Call) error {
	opts, err := rq.DeleteOptions()
	if err != nil {
		return err
	}
	rq.warnOfOrphans(opts)
	obj, gone, err := rq.Delete(ctx, opts)
	if err != nil {
		return err
	}
	return rq.answerDelete(obj, gone)
}

// warnOfOrphans warns that a deletion orphans dependents although no policy was given.
func (rq *Call) warnOfOrphans(opts *metav1.DeleteOptions) {
	if rq.Row.Strategy.DeleteWarning != "" && opts.PropagationPolicy == nil && opts.OrphanDependents == nil { // old clients send it
		response.Warn(rq.Writer, rq.Row.Strategy.DeleteWarning)
	}
}

// answerDelete responds with the object while it waits for its finalizers or grace
// period, and with a Status once it is deleted.
func (rq *Call) answerDelete(obj runtime.Object, gone bool) error {
	if !gone || rq.Row.Strategy.GracePeriod != nil {
		return rq.WriteResult(http.StatusOK, obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return rq.WriteObject(http.StatusOK, response.StatusKind, &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: m.GetName(), Group: rq.GVR.Group, Kind: rq.GVR.Resource, UID: m.GetUID()},
	})
}

// Delete deletes one object, or marks it as being deleted if it has finalizers or a
// grace period. It returns the object's last state, and whether it is gone.
func (rq *Call) Delete(ctx context.Context, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	change := func(stored runtime.Object) (runtime.Object, error) {
		old := rq.FromStored(stored)
		if err := rq.checkPreconditions(old, opts.Preconditions); err != nil {
			return nil, err
		}
		if rq.Sub == nil { // the create of a deleting subresource (an eviction) has been admitted already
			if err := rq.backend.Admission.Check(ctx, rq.Attributes(admission.Delete, nil, old, request.IsDryRun(opts.DryRun))); err != nil {
				return nil, err
			}
		}
		obj, gone, err := strategy.MarkDeleted(rq.Row, old, opts, rq.backend.Preparer.Now())
		switch {
		case err != nil:
			return nil, err
		case obj == nil:
			return stored, nil
		case gone:
			return rq.ToStored(obj), storage.ErrDelete
		}
		return rq.ToStored(obj), nil
	}
	result, err := rq.Objects.Update(ctx, rq.Key(), rq.Name, change, storage.UpdateOptions{DryRun: request.IsDryRun(opts.DryRun)})
	if err != nil {
		return nil, false, err
	}
	if !request.IsDryRun(opts.DryRun) && !result.Unchanged {
		rq.RecordWrite(result)
	}
	return rq.FromStored(result.Object), result.Deleted, nil
}

func (rq *Call) checkPreconditions(obj runtime.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	// Upstream puts the kind here where other errors have the resource.
	kind := schema.GroupResource{Group: rq.Row.Group, Resource: rq.Row.Kind}
	if p.UID != nil && *p.UID != m.GetUID() {
		return apierrors.NewConflict(kind, rq.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(kind, rq.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// serveDeleteCollection serves DELETE on a collection: it deletes each selected object
// individually. The response has the objects as they were before.
func serveDeleteCollection(ctx context.Context, rq *Call) error {
	deleteOpts, err := rq.DeleteOptions()
	if err != nil {
		return err
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
		_, _, err = one.Delete(ctx, deleteOpts)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		deleted = append(deleted, obj)
	}
	return rq.WriteList(&request.Page{Meta: page.Meta, Objects: deleted})
}
