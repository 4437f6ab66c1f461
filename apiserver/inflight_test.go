package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/request"
	"minikcm.dev/minikcm/clock"
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
	s, err := New(t.Context(), Options{Store: store.NewMemory(), CompactionInterval: -1, MaxReads: 1, MaxWrites: 1})
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
	if _, ok := limits.enter(&call{Request: request.Request{Info: request.Info{Verb: request.VerbGet}}}); !ok {
		t.Error("refused")
	}
}

// TestRequestsAreClassified reads the headers with the FlowSchema and priority level.
func TestRequestsAreClassified(t *testing.T) {
	ledger := clock.NewLedger()
	s, err := New(t.Context(), Options{Store: store.NewMemory(), CompactionInterval: -1, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := ledger.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	node := &auth.User{Name: "system:node:a", Groups: []string{"system:nodes", auth.GroupAuthenticated}}
	account := &auth.User{Name: "system:serviceaccount:kube-system:x", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", auth.GroupAuthenticated}}
	for _, test := range []struct {
		user *auth.User
		path string
		want string
	}{
		{&auth.User{Name: "admin", Groups: []string{auth.GroupMasters, auth.GroupAuthenticated}}, "/api/v1/pods", "exempt"},
		{node, "/api/v1/nodes/a", "system-node-high"},
		{node, "/api/v1/pods", "system-nodes"},
		{account, "/api/v1/pods", "kube-system-service-accounts"},
		{&auth.User{Name: "system:serviceaccount:default:x", Groups: []string{"system:serviceaccounts", auth.GroupAuthenticated}}, "/api/v1/pods", "service-accounts"},
		{&auth.User{Name: "system:kube-scheduler", Groups: []string{auth.GroupAuthenticated}}, "/api/v1/pods", "kube-scheduler"},
		{&auth.User{Name: "alice", Groups: []string{auth.GroupAuthenticated}}, "/api/v1/pods", "global-default"},
		{&auth.User{Name: "alice"}, "/api/v1/pods", ""},
	} {
		rq := &call{server: s, Request: request.Request{User: test.user, HTTP: httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)}}
		rq.Info = request.Info{Verb: request.VerbList, GVR: s.table.All()[0].GVR()}
		rq.GVR.Group, rq.GVR.Resource = "", strings.Split(test.path, "/")[3]
		name := ""
		if schema := s.flowSchemaOf(rq); schema != nil {
			name = schema.Name
		}
		if name != test.want {
			t.Errorf("%s, %s: %q, want %q", test.user.Name, test.path, name, test.want)
		}
	}
	if w := networkRequest(t, s, account, http.MethodGet, "/api/v1/pods", ""); w.Header().Get("X-Kubernetes-PF-FlowSchema-UID") == "" || w.Header().Get("X-Kubernetes-PF-PriorityLevel-UID") == "" {
		t.Errorf("headers %v", w.Header())
	}
}
