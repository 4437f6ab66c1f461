package apiserver

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/store"
)

// leasePrefix is the prefix of the keys of Leases, as upstream's.
const leasePrefix = "/registry/leases/"

// fenced returns the context of a request's writes: with a guard of the store if the request
// has the header of a fence, which may only be in requests that begin with one value of it.
func fenced(ctx context.Context, r *http.Request) (context.Context, error) {
	values := r.Header[fence.Header]
	if len(values) == 0 {
		return ctx, nil
	}
	if len(values) > 1 {
		return nil, apierrors.NewBadRequest("the header " + fence.Header + " is there more than once: a write has one fence")
	}
	token, err := fence.Parse(values[0])
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return store.WithGuard(ctx, store.Guard{Key: leasePrefix + token.Namespace + "/" + token.Name, Revision: token.Revision}), nil
}
