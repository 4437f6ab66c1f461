package apiserver

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/storage"
)

// errNoSuchCreate is returned for a row that has the verb create without an
// implementation.
var errNoSuchCreate = errors.New("the row does not say what creating this subresource does")

// serveSubresourceCreate serves POST on a subresource: the body changes the parent (a
// Binding sets a Pod's node), and the response is a Status.
func serveSubresourceCreate(ctx context.Context, rq *request) error {
	opts, err := rq.createOptions()
	if err != nil {
		return err
	}
	data, err := rq.body()
	if err != nil {
		return err
	}
	sent, err := rq.decode(data, rq.sub.GroupVersionKind, rq.sub.New(), opts.FieldValidation)
	if err != nil {
		return err
	}
	if err := rq.checkParent(sent); err != nil {
		return err
	}
	switch {
	case rq.sub.Delete != nil:
		err = rq.deleteParent(ctx, sent, opts.DryRun)
	case rq.sub.Writes():
		err = rq.changeParent(ctx, sent, isDryRun(opts.DryRun))
	default:
		err = apierrors.NewInternalError(errNoSuchCreate)
	}
	if err != nil {
		return err
	}
	return rq.writeObject(http.StatusCreated, response.StatusKind, &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}

// changeParent applies the body of a subresource create to the parent.
func (rq *request) changeParent(ctx context.Context, sent runtime.Object, dryRun bool) error {
	attributes := rq.attributes(admission.Create, sent, nil, dryRun)
	attributes.Kind = rq.kind()
	if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	if err := rq.server.admission.Check(ctx, attributes); err != nil {
		return err
	}
	change := func(stored runtime.Object) (runtime.Object, error) {
		parent := rq.fromStored(stored).DeepCopyObject()
		if err := rq.sub.WriteInto(parent, sent, rq.server.opts.Clock.Now()); err != nil {
			return nil, err
		}
		return rq.toStored(parent), nil
	}
	result, err := rq.objects.Update(ctx, rq.key(), rq.Name, change, storage.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return err
	}
	if !dryRun && !result.Unchanged {
		rq.recordWrite(result)
	}
	return nil
}

// deleteParent deletes the parent of a created subresource (an eviction).
func (rq *request) deleteParent(ctx context.Context, sent runtime.Object, dryRun []string) error {
	opts := &metav1.DeleteOptions{}
	if asked := rq.sub.Delete(sent); asked != nil {
		opts = asked
	}
	if len(dryRun) > 0 {
		opts.DryRun = dryRun
	}
	attributes := rq.attributes(admission.Create, sent, nil, isDryRun(opts.DryRun))
	attributes.Kind = rq.kind()
	if err := rq.server.admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	if err := rq.server.admission.Check(ctx, attributes); err != nil {
		return err
	}
	if rq.sub.BeforeDelete != nil {
		if err := rq.sub.BeforeDelete(ctx, rq, isDryRun(opts.DryRun)); err != nil {
			return err
		}
	}
	_, _, err := rq.delete(ctx, opts)
	return err
}

// ServeCreateOf serves POST for a resource that is not stored: it creates a subresource
// of the other resource's object that the body names.
func (rq *request) ServeCreateOf(ctx context.Context, resource schema.GroupVersionResource, subresource string) error {
	data, err := rq.body()
	if err != nil {
		return err
	}
	sent, err := rq.decode(data, rq.row.GroupVersionKind, rq.row.New(), "")
	if err != nil {
		return err
	}
	if err := rq.checkNamespace(sent); err != nil {
		return err
	}
	m, err := meta.Accessor(sent)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	rq.Name, rq.Subresource = m.GetName(), subresource
	rq.row = rq.server.table.Lookup(resource)
	rq.sub, rq.objects = rq.row.Subresource(subresource), rq.server.objects(rq.row)
	if err := rq.changeParent(ctx, sent, isDryRun(rq.query["dryRun"])); err != nil {
		return err
	}
	return rq.writeObject(http.StatusCreated, response.StatusKind, &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}
