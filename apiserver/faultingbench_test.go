package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/faults"
	"minikcm.dev/minikcm/internal/inflight"
)

// BenchmarkFaultsAtRest measures the cost of a request on a server with fault injection but
// without faults.
func BenchmarkFaultsAtRest(b *testing.B) {
	s := &Server{opts: Options{Clock: clock.Real(), Faults: faults.New(clock.Real(), nil, clock.NewRandom(1))}}
	handler := through(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), s.faulted)
	for name, target := range map[string]string{
		"get":    "/api/v1/namespaces/default/configmaps/web",
		"create": "/api/v1/namespaces/default/configmaps?fieldManager=kubectl&fieldValidation=Strict",
	} {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r = r.WithContext(auth.WithUser(r.Context(), &auth.User{Name: "jane"}))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
			}
		})
	}
}

// BenchmarkStoreWaits measures the cost of letting a request wait for the store.
func BenchmarkStoreWaits(b *testing.B) {
	s := &Server{opts: Options{Clock: clock.Real(), Ledger: clock.NewLedger()}}
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	defer work.End()
	b.ReportAllocs()
	for b.Loop() {
		s.withPause(b.Context(), work)
	}
}
