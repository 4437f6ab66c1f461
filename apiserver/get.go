package apiserver

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/storage"
)

// serveGet serves GET on an object.
func serveGet(ctx context.Context, rq *call) error {
	obj, err := rq.get(ctx)
	if err != nil {
		return err
	}
	return rq.writeResult(http.StatusOK, obj)
}

// get reads one object. With a resourceVersion the cache's copy is sufficient if it is
// at least as new; without one the newest state is read.
func (rq *call) get(ctx context.Context) (runtime.Object, error) {
	opts := &metav1.GetOptions{}
	if err := metav1.Convert_url_Values_To_v1_GetOptions(&rq.query, opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if opts.ResourceVersion == "" {
		obj, err := rq.objects.Get(ctx, rq.key(), rq.Name)
		return rq.fromStored(obj), err
	}
	revision, err := storage.ParseRevision(opts.ResourceVersion)
	if err != nil {
		return nil, unreadableVersion(err)
	}
	if err := rq.reach(ctx, revision); err != nil {
		return nil, err
	}
	if at := behind(ctx); at > 0 && revision == 0 {
		obj, err := rq.objects.GetAt(ctx, rq.key(), rq.Name, at)
		return rq.fromStored(obj), err
	}
	entry, _, err := rq.objects.Cache().Get(ctx, rq.key(), revision)
	if err != nil {
		return nil, storage.Translate(err, rq.groupResource(), rq.Name)
	}
	if entry == nil {
		return nil, apierrors.NewNotFound(rq.groupResource(), rq.Name)
	}
	return rq.fromStored(entry.Object), nil
}

// serveSubresourceGet serves GET on a subresource.
func serveSubresourceGet(ctx context.Context, rq *call) error {
	obj, err := rq.get(ctx)
	if err != nil {
		return err
	}
	if rq.sub.Get != nil {
		if obj, err = rq.sub.Get(obj); err != nil {
			return err
		}
	}
	return rq.writeResult(http.StatusOK, obj)
}
