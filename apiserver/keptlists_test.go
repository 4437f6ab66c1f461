package apiserver

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
)

// manyListed is how many objects of some kinds are listed: enough for several pieces.
const manyListed = 400

// TestKeptListsAreExact compares each list, when its encoding is made, offered and kept, with the
// list of a server that keeps no encodings: in all formats, compressed or not, with selectors and
// pages, after changes too.
func TestKeptListsAreExact(t *testing.T) {
	s := startWithBudget(t)
	user := &auth.User{Name: "alice"}
	paths := fillKinds(t, s, user)
	for _, path := range paths {
		compareLists(t, s, user, path)
	}
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"} {
		networkRequest(t, s, user, http.MethodDelete, "/apis/admissionregistration.k8s.io/v1/"+kind, "")
	}
	for i := range manyListed / 7 {
		name := fmt.Sprintf("%s/map-%03d", configMapsPath, i*7)
		if i%3 == 0 {
			networkRequest(t, s, user, http.MethodDelete, name, "")
		} else if w := networkRequest(t, s, user, http.MethodPut, name, fmt.Sprintf(`{"metadata":{"name":"map-%03d","labels":{"pick":"x"}}}`, i*7)); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	compareLists(t, s, user, configMapsPath)
	if s.env.Lists.Bytes() == 0 || s.env.Lists.Bytes() > s.env.Lists.Limit() {
		t.Errorf("%d bytes are kept of %d", s.env.Lists.Bytes(), s.env.Lists.Limit())
	}
	s.trimCaches()
	if s.env.Lists.Bytes() != 0 {
		t.Error("encodings are kept when memory is short")
	}
}

// fillKinds creates an object of every kind, and many of some, and returns the paths of the
// collections.
func fillKinds(t *testing.T, s *Server, user *auth.User) (paths []string) {
	t.Helper()
	create := func(path, format string, args ...any) {
		t.Helper()
		if w := networkRequest(t, s, user, http.MethodPost, path, fmt.Sprintf(format, args...)); w.Code != http.StatusCreated {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
	}
	create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "%s", twoVersions)
	const events = "/api/v1/namespaces/default/events"
	for i := range manyListed {
		data := strings.Repeat("<&> ", 10+(i%37)*10)
		create(configMapsPath, `{"metadata":{"name":"map-%03d","labels":{"pick":"%d"}},"data":{"v":%q}}`, i, i%10, data)
		create("/apis/example.com/v1/gadgets", `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g-%03d","labels":{"pick":"%d"}},"spec":{"v":%q,"f":1.5}}`, i, i%10, data)
		create(events, `{"metadata":{"name":"e-%03d","labels":{"pick":"%d"}},"involvedObject":{"namespace":"default","name":"o-%d"},"message":%q,"count":%d}`, i, i%10, i%3, data[:min(len(data), 1000)], i)
	}
	files, err := filepath.Glob("internal/resources/testdata/create/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		path, manifest := manifestOf(t, file)
		if strings.Contains(path, "/mutating") || strings.Contains(path, "/validating") {
			defer networkRequest(t, s, user, http.MethodPost, path, manifest) // they would reject the others
			if !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
			continue
		}
		if w := networkRequest(t, s, user, http.MethodPost, path, manifest); w.Code == http.StatusCreated && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	if len(paths) < 50 {
		t.Fatalf("only %d kinds", len(paths))
	}
	return append(paths, "/apis/example.com/v1/gadgets", "/apis/example.com/v2/gadgets", events, "/apis/events.k8s.io/v1/events", "/api/v1/configmaps", "/api/v1/secrets")
}

const twoVersions = `{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"gadgets","kind":"Gadget"},"versions":[
	{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
	{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

func manifestOf(t *testing.T, file string) (path, manifest string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		t.Fatal(err)
	}
	row := resources.BuiltinFor(resources.AllFeatures()).ByKind(u.GroupVersionKind())
	if path = "/apis/" + row.GroupVersion().String(); row.Group == "" {
		path = "/api/" + row.Version
	}
	if row.Namespaced {
		path += "/namespaces/default"
		u.SetNamespace(metav1.NamespaceDefault)
	}
	if data, err = json.Marshal(u.Object); err != nil {
		t.Fatal(err)
	}
	return path + "/" + row.Plural, string(data)
}

// compareLists compares the lists of a collection. Only lists of many objects have several pieces,
// and pages.
func compareLists(t *testing.T, s *Server, user *auth.User, path string) {
	t.Helper()
	const as = ";v=v1;g=meta.k8s.io;as="
	queries, gzips := []string{""}, []string{""}
	if page := continueOf(t, s, user, path); page != "" {
		queries = append(queries, page, "?limit=1", "?limit=150", "?resourceVersion=0", "?labelSelector=pick%3D3", "?labelSelector=pick%3D3&limit=7", "?fieldSelector=metadata.name!%3Dmap-010", "?pretty=true")
		gzips = append(gzips, "gzip")
	}
	formats := []string{"application/json", "application/vnd.kubernetes.protobuf", "application/json" + as + "PartialObjectMetadataList", "application/vnd.kubernetes.protobuf" + as + "PartialObjectMetadataList", "application/json" + as + "Table", "application/yaml"}
	for i, query := range queries {
		if i == 1 {
			formats = formats[:4] // the other two are not kept, and slow
		}
		for _, accept := range formats {
			for _, encoding := range gzips {
				want := listed(t, s, user, path+query, accept, encoding, nil)
				for _, when := range []string{"first", "second", "third"} {
					if got := listed(t, s, user, path+query, accept, encoding, s.env.Lists); got != want {
						t.Fatalf("%s %s %s differs the %s time:\n%s", path+query, accept, encoding, when, cmp.Diff(want, got))
					}
				}
			}
		}
	}
}

// continueOf returns the query of the second page.
func continueOf(t *testing.T, s *Server, user *auth.User, path string) string {
	t.Helper()
	var first metav1.PartialObjectMetadataList
	w := networkRequest(t, s, user, http.MethodGet, path+"?limit=5", "")
	if err := json.Unmarshal(w.Body.Bytes(), &first); err != nil || first.Continue == "" {
		return ""
	}
	return "?limit=300&continue=" + first.Continue
}

// listed returns a response, decompressed, with the headers that describe it. Its encoding may be
// kept in kept.
func listed(t *testing.T, s *Server, user *auth.User, path, accept, encoding string, kept *encodings.Kept) string {
	t.Helper()
	before := s.env.Lists
	defer func() { s.env.Lists = before }()
	s.env.Lists = kept
	r := httptest.NewRequestWithContext(auth.WithUser(t.Context(), user), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	body := w.Body.Bytes()
	if w.Header().Get("Content-Encoding") == "gzip" {
		unzip, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(unzip); err != nil {
			t.Fatal(err)
		}
	}
	var headers strings.Builder
	for _, name := range []string{"Content-Type", "Content-Encoding", "Vary"} {
		fmt.Fprintf(&headers, "%s: %s\n", name, w.Header().Get(name))
	}
	if length := w.Header().Get("Content-Length"); length != "" {
		fmt.Fprintf(&headers, "the length is right: %t\n", length == strconv.Itoa(w.Body.Len()))
	}
	if strings.HasSuffix(accept, "as=Table") {
		body = ages.ReplaceAll(body, []byte(`"age"`))
	}
	return fmt.Sprintf("%d\n%s\n%s", w.Code, headers.String(), body)
}

// ages are the ages of objects, which Tables show, and no other format does.
var ages = regexp.MustCompile(`"?\b([0-9]+m)?[0-9]+[ms]\b"?`)
