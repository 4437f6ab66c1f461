package exchange

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server answers creates and reads of one object, whose UID and versions it chooses.
type server struct {
	uid     string
	version int
	label   string
	// step is by how much a write changes the version.
	step int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", JSON)
	switch r.Method {
	case http.MethodPost:
		s.version += s.step
		w.WriteHeader(http.StatusCreated)
	case http.MethodDelete:
		if !strings.Contains(r.URL.RawQuery, s.uid) {
			w.WriteHeader(http.StatusConflict)
		}
	}
	fmt.Fprintf(w, `{"metadata":{"name":"a-x1y2z","generateName":"a-","namespace":"n","uid":%q,"resourceVersion":"%d","creationTimestamp":"2030-01-01T00:00:0%dZ","labels":{"l":%q}},"note":"a-x1y2z of %s"}`,
		s.uid, s.version, s.step, s.label, r.Host)
}

func run(t *testing.T, upstream, minikcm http.Handler, c Case) (found []string) {
	t.Helper()
	var servers []*Server
	for _, handler := range []http.Handler{upstream, minikcm} {
		s := httptest.NewTLSServer(handler)
		t.Cleanup(s.Close)
		servers = append(servers, NewServer(s.URL, "token"))
	}
	for _, result := range (Pair{servers[0], servers[1]}).Run(context.Background(), c) {
		for _, d := range result.Differences {
			found = append(found, fmt.Sprintf("%s: %s: %s, %s", result.Name, d.Field, d.Upstream, d.Minikcm))
		}
	}
	return found
}

func TestRun(t *testing.T) {
	c := Case{Name: "c", Requests: []Request{
		{Name: "create", Method: "POST", Path: "/", Body: "{}"},
		{Name: "get", Method: "GET", Path: "/"},
		{Name: "delete", Method: "DELETE", Path: "/?uid=${create:metadata.uid}"},
		{Name: "change", Method: "POST", Path: "/", From: "get", Change: func(o map[string]any) { o["x"] = 1 }},
	}}
	first := func() *server { return &server{uid: "11111111-1111-1111-1111-111111111111", version: 7, step: 1} }
	second := func() *server {
		return &server{uid: "22222222-2222-2222-2222-222222222222", version: 100, step: 5}
	}
	if found := run(t, first(), second(), c); len(found) > 0 {
		t.Errorf("servers that differ in UIDs, versions, times and addresses:\n%s", strings.Join(found, "\n"))
	}
	other := second()
	other.label = "x"
	want := []string{`c/create: .metadata.labels.l: "", "x"`, `c/get: .metadata.labels.l: "", "x"`, `c/delete: .metadata.labels.l: "", "x"`, `c/change: .metadata.labels.l: "", "x"`}
	if diff := cmp.Diff(want, run(t, first(), other, c)); diff != "" {
		t.Errorf("another label (-want +got):\n%s", diff)
	}
	idle := second()
	idle.step = 0
	want = []string{`c/change: .metadata.resourceVersion: "<version 2 of the object>", "<version 1 of the object>"`}
	if diff := cmp.Diff(want, run(t, first(), idle, c)); diff != "" {
		t.Errorf("a write that changes nothing (-want +got):\n%s", diff)
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, upstream, minikcm string
		want                    []Difference
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{"missing", `{"a":{"b":1}}`, `{"a":{}}`, []Difference{{".a.b", "1", absent}}},
		{"null and missing", `{"a":null}`, `{}`, []Difference{{".a", "null", absent}}},
		{"longer list", `[1]`, `[1,2]`, []Difference{{"[1]", absent, "2"}}},
		{"types", `{"a":"1"}`, `{"a":1}`, []Difference{{".a", `"1"`, "1"}}},
		{"key with a dot", `{"a.b":1}`, `{"a.b":2}`, []Difference{{".a·b", "1", "2"}}},
	} {
		var u, m any
		if err := unmarshal([]byte(c.upstream), &u); err != nil {
			t.Fatal(err)
		}
		if err := unmarshal([]byte(c.minikcm), &m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, diff("", u, m, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestReplace(t *testing.T) {
	s := newSession(NewServer("https://127.0.0.1:1234", ""))
	for text, want := range map[string]string{
		"see https://127.0.0.1:1234/x":                    "see https://<host>/x",
		"2030-01-01T00:00:00Z":                            "<time>",
		"2030-01-01T00:00:00.000001Z":                     "<time with 6 digits>",
		"00000000-1111-2222-3333-444444444444 is unknown": "<UID> is unknown",
		"10.96.3.4":                          "<cluster IP>",
		"10.97.3.4":                          "10.97.3.4",
		"the ResourceVersion in record (12)": "the ResourceVersion in record (<version>)",
		"eyJhbGciOiJFUzI1NiJ9.eyJleHAiOjQwLCJpYXQiOjEwLCJqdGkiOiJ4In0.xyz": `token {"alg":"ES256"} {"exp":30,"iat":0,"jti":"<jti>"}`,
	} {
		if got := s.replace(text); got != want {
			t.Errorf("replace(%q) = %q, want %q", text, got, want)
		}
	}
}
