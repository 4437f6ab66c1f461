package apiserver

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/pressure"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

const (
	configMapsPath = "/api/v1/namespaces/default/configmaps"
	widgets        = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"widgets","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
)

func startWithBudget(t *testing.T) *Server {
	t.Helper()
	s, err := New(t.Context(), Options{
		Store: store.NewMemory(), CompactionInterval: -1, MemoryLimit: 64 << 30, AuthorizationModes: []string{AuthorizeAlways},
		Resources: resources.BuiltinFor(resources.AllFeatures()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fillBudget holds all of the budget for responses, as those to clients that do not read do.
func fillBudget(t *testing.T, s *Server) []*pressure.Share {
	t.Helper()
	shares := []*pressure.Share{s.responses.Share(), s.responses.Share()}
	for _, share := range shares {
		if !share.Grow(s.responses.Limit()) {
			t.Fatal("the budget is not free")
		}
	}
	return shares
}

// While responses in flight fill the budget, reads get 429 with Retry-After; writes, which
// have been made when they are answered, get their responses.
func TestResponsesHaveABudget(t *testing.T) {
	s := startWithBudget(t)
	user := &auth.User{Name: "alice"}
	shares := fillBudget(t, s)
	if w := networkRequest(t, s, user, http.MethodPost, configMapsPath, `{"metadata":{"name":"a"}}`); w.Code != http.StatusCreated {
		t.Errorf("a create: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{configMapsPath, configMapsPath + "/a"} {
		w := networkRequest(t, s, user, http.MethodGet, path, "")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "--memory-limit") {
			t.Errorf("GET %s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	if w := networkRequest(t, s, user, http.MethodDelete, configMapsPath, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "ConfigMapList") {
		t.Errorf("a delete of a collection: %d %s", w.Code, w.Body)
	}
	if text := networkRequest(t, s, user, http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(text, "minikcm_apiserver_responses_rejected_total 2") {
		t.Errorf("the metrics do not count two rejected responses: %s", text)
	}
	for _, share := range shares {
		share.Release()
	}
	if w := networkRequest(t, s, user, http.MethodGet, configMapsPath, ""); w.Code != http.StatusOK {
		t.Errorf("a list after them: %d", w.Code)
	}
	if held := s.responses.Reserved(); held != 0 {
		t.Errorf("%d bytes are held after all responses", held)
	}
}

// A page that is read from the store counts before it is read; pages of the cache, which all
// readers share, count as far as they are being sent.
func TestPagesFromTheStoreCount(t *testing.T) {
	s := startWithBudget(t)
	user := &auth.User{Name: "alice"}
	for _, name := range []string{"a", "b"} {
		networkRequest(t, s, user, http.MethodPost, configMapsPath, `{"metadata":{"name":"`+name+`"},"data":{"v":"`+strings.Repeat("x", 100_000)+`"}}`)
	}
	first := networkRequest(t, s, user, http.MethodGet, configMapsPath+"?limit=1", "").Body.String()
	_, token, _ := strings.Cut(first, `"continue":"`)
	token, _, _ = strings.Cut(token, `"`)
	next := configMapsPath + "?limit=1&continue=" + token
	if w := networkRequest(t, s, user, http.MethodGet, next, ""); w.Code != http.StatusOK {
		t.Fatalf("the second page: %d %s", w.Code, w.Body)
	}
	networkRequest(t, s, user, http.MethodPost, configMapsPath, `{"metadata":{"name":"c"}}`)
	networkRequest(t, s, user, http.MethodGet, configMapsPath, "") // the cache has seen the change
	s.trimCaches()                                                 // the state of the first page is only in the store
	other := s.responses.Share()
	other.Force(s.responses.Limit() - 150_000) // enough for a response from the cache
	if w := networkRequest(t, s, user, http.MethodGet, configMapsPath+"?limit=1", ""); w.Code != http.StatusOK {
		t.Errorf("a page of the cache: %d", w.Code)
	}
	if w := networkRequest(t, s, user, http.MethodGet, next, ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("a page of the store: %d", w.Code)
	}
	other.Release()
}

// Lists of custom objects occupy seats by their size, and their caches are trimmed.
func TestCustomKindsAreSized(t *testing.T) {
	s := startWithBudget(t)
	user := &auth.User{Name: "alice"}
	if w := networkRequest(t, s, user, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := networkRequest(t, s, user, http.MethodPost, "/apis/example.com/v1/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	list := networkRequest(t, s, user, http.MethodGet, "/apis/example.com/v1/widgets", "").Body.String()
	_, revision, _ := strings.Cut(list, `"kind":"WidgetList"`) // after the items, and before the list's metadata
	_, revision, _ = strings.Cut(revision, `"resourceVersion":"`)
	revision, _, _ = strings.Cut(revision, `"`)
	if n, bytes, ok := s.sizeOf(schema.GroupResource{Group: "example.com", Resource: "widgets"}); n != 1 || bytes < 100 || !ok {
		t.Errorf("%d objects of %d bytes, known %t", n, bytes, ok)
	}
	if w := networkRequest(t, s, user, http.MethodPost, "/apis/example.com/v1/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b"}}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	watch := "/apis/example.com/v1/widgets?watch=true&timeoutSeconds=1&resourceVersion=" + revision
	if events := networkRequest(t, s, user, http.MethodGet, watch, "").Body.String(); !strings.Contains(events, `"ADDED"`) {
		t.Fatalf("before: %s", events)
	}
	s.trimCaches()
	if events := networkRequest(t, s, user, http.MethodGet, watch, "").Body.String(); !strings.Contains(events, "Expired") {
		t.Errorf("the history of a custom kind is not trimmed: %s", events)
	}
}
