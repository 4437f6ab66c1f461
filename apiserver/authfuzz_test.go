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

// FuzzHeaders sends arbitrary tokens, and arbitrary headers of front proxies and of
// impersonation, without a certificate: they make no request another user's.
func FuzzHeaders(f *testing.F) {
	opts := proxied(f, anotherAuthority(f, "front-proxy-ca", 0))
	opts.TokenAuthFile, opts.BootstrapTokens = fileOf(f, "tokens.csv", []byte("a secret that is not found by chance,jane,17\n")), true
	h := start(f, authenticating(opts))
	for _, header := range [][2]string{
		{"Authorization", "Bearer x"},
		{"Authorization", "bearer abcdef.0123456789abcdef"},
		{"X-Remote-User", "tester"},
		{"x-remote-group", "system:masters"},
		{"X-Remote-Extra-%zz", "x"},
		{"Impersonate-User", "tester"},
		{"Impersonate-Extra-a", "b"},
		{"Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.eA,x"},
	} {
		f.Add(header[0], header[1], "X-Remote-Group", "system:masters")
	}
	f.Fuzz(func(t *testing.T, name, value, otherName, otherValue string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods", http.NoBody)
		r.Header.Add(name, value)
		r.Header.Add(otherName, otherValue)
		w := httptest.NewRecorder()
		h.server.Handler().ServeHTTP(w, r)
		if w.Code < 400 || w.Code >= 500 {
			t.Errorf("%q: %q is answered: %d\n%s", name, value, w.Code, w.Body)
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
