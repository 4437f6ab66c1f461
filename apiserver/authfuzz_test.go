package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzAnonymousPaths requests any path without credentials: only public paths are
// served, however a path is encoded.
func FuzzAnonymousPaths(f *testing.F) {
	h := start(f)
	for _, path := range []string{
		"/", "/api/v1/pods", "/api/v1/", "/apis/apps/v1/deployments", "/apis//x/y", "/healthz/../metrics", "//metrics", "/api/v1/%2e%2e/metrics",
		"/healthz/", "/healthz/ping", "/version/x", "/api%2Fv1/pods", "/api/v1/namespaces/default/pods/x/log", "/openapi/v3/apis/apps/v1", "/livez?verbose",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return
		}
		w := httptest.NewRecorder()
		r := (&http.Request{Method: http.MethodGet, URL: u, RequestURI: path, Header: http.Header{}, Body: http.NoBody}).WithContext(t.Context())
		h.server.Handler().ServeHTTP(w, r)
		if w.Code < 300 && !public(u.Path) {
			t.Errorf("%s was answered: %d\n%s", path, w.Code, w.Body)
		}
	})
}

func public(path string) bool {
	for _, prefix := range []string{"/healthz", "/livez", "/readyz", "/version"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}
