package verbs

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/storage"
)

// serveGet serves GET on an object.
func serveGet(ctx context.Context, rq *Call) error {
	obj, err := rq.get(ctx)
	if err != nil {
		return err
	}
	return rq.WriteResult(http.StatusOK, obj)
}

// get reads one object. With a resourceVersion the cache's copy is sufficient if it is
// at least as new; without one the newest state is read.
func (rq *Call) get(ctx context.Context) (runtime.Object, error) {
	opts := &metav1.GetOptions{}
	if err := metav1.Convert_url_Values_To_v1_GetOptions(&rq.Query, opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if opts.ResourceVersion == "" {
		obj, err := rq.Objects.Get(ctx, rq.Key(), rq.Name)
		return rq.FromStored(obj), err
	}
	revision, err := storage.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return nil, request.UnreadableVersion(err)
	}
	if err := rq.reach(ctx, revision); err != nil {
		return nil, err
	}
	if at := behind(ctx); at > 0 && revision == 0 {
		obj, err := rq.Objects.GetAt(ctx, rq.Key(), rq.Name, at)
		return rq.FromStored(obj), err
	}
	entry, _, err := rq.Objects.Cache().Get(ctx, rq.Key(), revision)
	if err != nil {
		return nil, storage.Translate(err, rq.GroupResource(), rq.Name)
	}
	if entry == nil {
		return nil, apierrors.NewNotFound(rq.GroupResource(), rq.Name)
	}
	return rq.FromStored(entry.Object()), nil
}

// serveSubresourceGet serves GET on a subresource.
func serveSubresourceGet(ctx context.Context, rq *Call) error {
	obj, err := rq.get(ctx)
	if err != nil {
		return err
	}
	if rq.Sub.Get != nil {
		if obj, err = rq.Sub.Get(obj); err != nil {
			return err
		}
	}
	return rq.WriteResult(http.StatusOK, obj)
}
