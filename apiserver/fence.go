package apiserver

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/store"
)

// leasePrefix is the prefix of the keys of Leases, as upstream's.
const leasePrefix = "/registry/leases/"

// fenced returns the request with a guard of the store in its context if it has the header of a
// fence. A malformed or repeated header is a BadRequest.
func fenced(r *http.Request) (*http.Request, error) {
	values := r.Header[fence.Header]
	if len(values) == 0 {
		return r, nil
	}
	if len(values) > 1 {
		return r, apierrors.NewBadRequest("the header " + fence.Header + " was sent more than once: a write can depend on one Lease")
	}
	token, err := fence.Parse(values[0])
	if err != nil {
		return r, apierrors.NewBadRequest(err.Error())
	}
	guard := store.Guard{Key: leasePrefix + token.Namespace + "/" + token.Name, Revision: token.Revision}
	return r.WithContext(store.WithGuard(r.Context(), guard)), nil
}
