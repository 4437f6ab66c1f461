package verbs

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
)

// errNoSuchCreate is returned for a row that has the verb create without an
// implementation.
var errNoSuchCreate = errors.New("the row does not say what creating this subresource does")

// serveSubresourceCreate serves POST on a subresource: the body changes the parent (a
// Binding sets a Pod's node), and the response is a Status.
func serveSubresourceCreate(ctx context.Context, rq *Call) error {
	opts, sent, err := rq.readCreate()
	if err != nil {
		return err
	}
	if err := rq.CheckParent(sent); err != nil {
		return err
	}
	switch {
	case rq.Sub.Delete != nil:
		err = rq.deleteParent(ctx, sent, opts.DryRun)
	case rq.Sub.Writes():
		if err = rq.admitSubresource(ctx, sent, request.IsDryRun(opts.DryRun)); err == nil {
			err = rq.changeParent(ctx, sent, request.IsDryRun(opts.DryRun))
		}
	default:
		err = apierrors.NewInternalError(errNoSuchCreate)
	}
	if err != nil {
		return err
	}
	return rq.writeCreated()
}

// writeCreated answers that a subresource was created.
func (rq *Call) writeCreated() error {
	return rq.WriteObject(http.StatusCreated, response.StatusKind, &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}

// admitSubresource runs the body of a subresource create through admission.
func (rq *Call) admitSubresource(ctx context.Context, sent runtime.Object, dryRun bool) error {
	attributes := rq.Attributes(admission.Create, sent, nil, dryRun)
	if err := rq.backend.Admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	return rq.backend.Admission.Check(ctx, attributes)
}

// changeParent applies the body of a subresource create, which has been admitted, to the parent.
func (rq *Call) changeParent(ctx context.Context, sent runtime.Object, dryRun bool) error {
	change := func(stored runtime.Object) (runtime.Object, error) {
		parent := rq.copyForSub(rq.FromStored(stored))
		if err := rq.Sub.WriteInto(parent, sent, rq.backend.Clock.Now()); err != nil {
			return nil, err
		}
		return rq.ToStored(parent), nil
	}
	result, err := rq.Objects.Update(ctx, rq.Key(), rq.Name, change, storage.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return err
	}
	if !dryRun && !result.Unchanged {
		rq.RecordWrite(result)
	}
	return nil
}

// copyForSub returns a copy of a stored object into which the subresource is written.
func (rq *Call) copyForSub(stored runtime.Object) runtime.Object {
	if rq.Sub.Replaces {
		return storage.Shallow(stored)
	}
	return stored.DeepCopyObject()
}

// deleteParent deletes the parent of a created subresource (an eviction).
func (rq *Call) deleteParent(ctx context.Context, sent runtime.Object, dryRun []string) error {
	opts := &metav1.DeleteOptions{}
	if asked := rq.Sub.Delete(sent); asked != nil {
		opts = asked
	}
	if err := request.ValidDeleteOptions(opts); err != nil {
		return err
	}
	if len(dryRun) > 0 {
		opts.DryRun = dryRun
	}
	if err := rq.admitSubresource(ctx, sent, request.IsDryRun(opts.DryRun)); err != nil {
		return err
	}
	if rq.Sub.BeforeDelete != nil {
		if err := rq.Sub.BeforeDelete(ctx, rq.backend.Special(rq), request.IsDryRun(opts.DryRun)); err != nil {
			return err
		}
	}
	_, _, err := rq.Delete(ctx, opts)
	return err
}

// ServeCreateOf serves POST for a resource that is not stored: it creates a subresource
// of the other resource's object that the body names. Admission sees the resource of the request.
func (rq *Call) ServeCreateOf(ctx context.Context, resource schema.GroupVersionResource, subresource string) error {
	opts, sent, err := rq.readCreate()
	if err != nil {
		return err
	}
	if err := rq.CheckNamespace(sent); err != nil {
		return err
	}
	m, err := meta.Accessor(sent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	rq.Name = m.GetName()
	if err := rq.admitSubresource(ctx, sent, request.IsDryRun(opts.DryRun)); err != nil {
		return err
	}
	rq.Subresource, rq.Row = subresource, rq.backend.Table.Lookup(resource)
	rq.Sub, rq.Objects = rq.Row.Subresource(subresource), rq.backend.Objects(rq.Row)
	if err := rq.changeParent(ctx, sent, request.IsDryRun(opts.DryRun)); err != nil {
		return err
	}
	return rq.writeCreated()
}
