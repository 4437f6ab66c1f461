package apiserver

import (
	"net/http"

	"minikcm.dev/minikcm/apiserver/openapi"
	"minikcm.dev/minikcm/apiserver/resources"
)

// newOpenAPI serves the OpenAPI documents, which are built when somebody first asks
// for one.
func newOpenAPI(table *resources.Table, version string) http.Handler {
	return openapi.New(table, version)
}
