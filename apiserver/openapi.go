package apiserver

import (
	"net/http"
	"sync"

	"minikcm.dev/minikcm/apiserver/openapi"
	"minikcm.dev/minikcm/apiserver/resources"
)

// newOpenAPI serves the OpenAPI documents, which are built when somebody first asks
// for one.
func newOpenAPI(table *resources.Table, version string) http.Handler {
	handler := sync.OnceValue(func() http.Handler { return openapi.New(table, version) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}
