package apiserver

import (
	"net/http"

	"minikcm.dev/minikcm/apiserver/resources"
)

// newOpenAPI serves the OpenAPI documents, which are built when somebody first asks
// for one.
func newOpenAPI(*resources.Table, string) http.Handler {
	return http.HandlerFunc(notFound)
}
