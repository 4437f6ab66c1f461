package apiserver

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errCrossSite = errors.New("a page of another origin made the browser send this request")

// refuseCrossSite returns an error for a request by which a page of another origin could
// change something with the client certificate that its reader's browser has: a write, or a
// connection such as exec's. Such a page cannot read the answers to other requests, because
// they do not allow it to. Only browsers send the header that shows this, and pages cannot set
// it, so that no other client and no page behind "kubectl proxy" is refused.
func refuseCrossSite(r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if r.Header.Get("Upgrade") == "" {
			return nil
		}
	}
	return apierrors.NewForbidden(schema.GroupResource{}, "", errCrossSite)
}
