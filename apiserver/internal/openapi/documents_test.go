package openapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

func get(t *testing.T, h http.Handler, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestV3(t *testing.T) {
	d := New(resources.Builtin(), "v1.37.2")
	w := get(t, d, "/openapi/v3", "")
	var index handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(w.Body.Bytes(), &index); err != nil {
		t.Fatalf("index: %v: %s", err, w.Body)
	}
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/events.k8s.io/v1", "apis/coordination.k8s.io/v1"} {
		url := index.Paths[path].ServerRelativeURL
		w := get(t, d, url, "application/json")
		if w.Code != http.StatusOK {
			t.Fatalf("%s (%q): %d %s", path, url, w.Code, w.Body)
		}
		document := &spec3.OpenAPI{}
		if err := json.Unmarshal(w.Body.Bytes(), document); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if strings.Contains(w.Body.String(), "#/definitions/") {
			t.Errorf("%s refers to definitions", path)
		}
		if w := get(t, d, "/openapi/v3/"+path+"?hash=old", ""); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != url {
			t.Errorf("%s with an old hash: %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	if w := get(t, d, "/openapi/v3/apis/nothing/v1", ""); w.Code != http.StatusNotFound {
		t.Errorf("unknown group: %d", w.Code)
	}
}

func TestV2(t *testing.T) {
	d := New(resources.Builtin(), "v1.37.2")
	w := get(t, d, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	if w.Code != http.StatusOK {
		t.Fatalf("protobuf: %d %s", w.Code, w.Body)
	}
	document := &openapi_v2.Document{}
	if err := proto.Unmarshal(w.Body.Bytes(), document); err != nil {
		t.Fatal(err)
	}
	if n := len(document.GetDefinitions().GetAdditionalProperties()); n < 100 {
		t.Errorf("%d definitions", n)
	}
	etag := w.Header().Get("Etag")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi/v2", nil)
	r.Header.Set("If-None-Match", etag)
	again := httptest.NewRecorder()
	d.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified {
		t.Errorf("same again: %d", again.Code)
	}
	if w := get(t, d, "/openapi/v2", "text/html"); w.Code != http.StatusNotAcceptable {
		t.Errorf("html: %d", w.Code)
	}
}

func BenchmarkV2(b *testing.B) {
	for b.Loop() {
		if _, err := New(resources.Builtin(), "v1").v2.protobuf(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkV3(b *testing.B) {
	for b.Loop() {
		if _, err := New(resources.Builtin(), "v1").index(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	table := resources.Builtin()
	for b.Loop() {
		New(table, "v1")
	}
}
