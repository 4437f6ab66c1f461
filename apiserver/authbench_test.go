package apiserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"minikcm.dev/minikcm/internal/auth"
)

// BenchmarkAuthentication reads an object from the cache with different ways to
// authenticate.
func BenchmarkAuthentication(b *testing.B) {
	h := start(b, allowAll)
	token := h.tokenFor(authenticationv1.TokenRequestSpec{})
	const path = "/api/v1/namespaces/default/serviceaccounts/default?resourceVersion=0"
	for _, bench := range []struct {
		name string
		ctx  context.Context
		add  []string
	}{
		{"in memory", auth.WithUser(h.ctx, &auth.User{Name: "tester", Groups: []string{auth.GroupMasters, auth.GroupAuthenticated}}), nil},
		{"token", h.ctx, []string{"Authorization", "Bearer " + token}},
		{"impersonation", auth.WithUser(h.ctx, &auth.User{Name: "tester"}), []string{"Impersonate-User", "jane"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(bench.ctx, http.MethodGet, path, nil)
				for i := 0; i < len(bench.add); i += 2 {
					r.Header.Set(bench.add[i], bench.add[i+1])
				}
				w := httptest.NewRecorder()
				h.server.Handler().ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("%d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
