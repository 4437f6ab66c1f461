package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// networkRequest serves a request as if that user had sent it over a socket.
func networkRequest(t *testing.T, s *Server, user *auth.User, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(auth.WithUser(t.Context(), user), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func TestRequestsInFlightAreLimited(t *testing.T) {
	s, err := New(t.Context(), Options{Store: store.NewMemory(), CompactionInterval: -1, MaxReads: 1, MaxWrites: 1, AuthorizationModes: []string{AuthorizeAlways}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const (
		configMaps = "/api/v1/namespaces/default/configmaps"
		body       = `{"metadata":{"generateName":"a"}}`
	)
	user, master := &auth.User{Name: "alice"}, &auth.User{Name: "admin", Groups: []string{auth.GroupMasters}}
	status := func(user *auth.User, method, path string) int {
		t.Helper()
		return networkRequest(t, s, user, method, path, body).Code
	}
	s.limits.writes <- struct{}{} // another write is being served
	w := networkRequest(t, s, user, http.MethodPost, configMaps, body)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.HasPrefix(w.Body.String(), "Too many requests, please try again later.") {
		t.Errorf("a second write: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if code := status(master, http.MethodPost, configMaps); code != http.StatusCreated {
		t.Errorf("of an administrator: %d", code)
	}
	if code := status(user, http.MethodGet, configMaps); code != http.StatusOK {
		t.Errorf("a read beside it: %d", code)
	}
	<-s.limits.writes
	if code := status(user, http.MethodPost, configMaps); code != http.StatusCreated {
		t.Errorf("after it: %d", code)
	}
	s.limits.reads <- struct{}{}
	if code := status(user, http.MethodGet, configMaps); code != http.StatusTooManyRequests {
		t.Errorf("a second read: %d", code)
	}
	if code := status(user, http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1&resourceVersion=1"); code != http.StatusOK {
		t.Errorf("a watch: %d", code)
	}
	<-s.limits.reads
}

func TestNoLimits(t *testing.T) {
	limits := newInFlightLimits(-1, 0)
	if limits.reads != nil || cap(limits.writes) != defaultWritesInFlight {
		t.Errorf("reads %v, %d writes", limits.reads, cap(limits.writes))
	}
	if _, ok := limits.enter(&apirequest.RequestInfo{IsResourceRequest: true, Verb: request.VerbGet}, auth.Anonymous()); !ok {
		t.Error("refused")
	}
}
