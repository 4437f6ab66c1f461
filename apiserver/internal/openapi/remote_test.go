package openapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

var things = schema.GroupVersion{Group: "things.example.com", Version: "v1"}

// thingsDocument is the document of another server, with paths and definitions.
func thingsDocument(paths, definitions string) string {
	return `{"swagger":"2.0","info":{"title":"things","version":"1"},"paths":{` + paths + `},"definitions":{` + definitions + `}}`
}

func operation(path, id, definition string) string {
	return `"` + path + `":{"get":{"operationId":"` + id + `","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/` + definition + `"}}}}}`
}

func TestReadRemoteErrors(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"not JSON":   {"openapi", "invalid character"},
		"no paths":   {`{"swagger":"2.0"}`, "it has no paths"},
		"too deep":   {`{"paths":` + strings.Repeat(`{"x":`, 300) + "1" + strings.Repeat("}", 300) + "}", "nested"},
		"not valid":  {`{"swagger":"2.0","paths":{"/apis/things.example.com/v1/x":{"get":{"responses":{"200":{}}}}}}`, "info"},
		"a list":     {`[]`, ""},
		"other type": {`{"swagger":"2.0","paths":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadRemote([]byte(test.document), things); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestWithRemote merges the documents of two servers, which define a name differently, and have a
// path of another version and one of this server.
func TestWithRemote(t *testing.T) {
	const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	read := func(document string, gv schema.GroupVersion) *Remote {
		t.Helper()
		r, err := ReadRemote([]byte(document), gv)
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsOf([]byte(document)) || r.IsOf([]byte("x")) {
			t.Error("the document is not recognised")
		}
		return r
	}
	own := New(resources.Builtin(), "v1.37.2")
	all := own.WithRemote([]*Remote{
		read(thingsDocument(operation("/apis/things.example.com/v1/things", "listThings", "Thing")+","+operation("/apis/things.example.com/v2/things", "listV2", "Unused")+","+operation("/api/v1/pods", "steal", "Thing"),
			`"Thing":{"type":"object","properties":{"metadata":{"$ref":"#/definitions/`+objectMeta+`"}}},"Unused":{"type":"object"},"`+objectMeta+`":{"type":"object","description":"another"}`), things),
		read(thingsDocument(operation("/apis/more.example.com/v1/things", "listMore", "Thing"), `"Thing":{"type":"string"}`), schema.GroupVersion{Group: "more.example.com", Version: "v1"}),
	})
	type document struct {
		Paths       map[string]struct{ Get struct{ OperationID string } }
		Definitions map[string]json.RawMessage
	}
	parse := func(d *Documents) (parsed document) {
		t.Helper()
		w := get(t, d, "/openapi/v2", "application/json")
		if err := json.Unmarshal(w.Body.Bytes(), &parsed); w.Code != http.StatusOK || err != nil {
			t.Fatalf("%d %v", w.Code, err)
		}
		return parsed
	}
	before, after := parse(own), parse(all)
	added := func(before, after []string) []string {
		return slices.DeleteFunc(after, func(name string) bool { return slices.Contains(before, name) })
	}
	if diff := cmp.Diff([]string{"/apis/more.example.com/v1/things", "/apis/things.example.com/v1/things"}, added(slices.Collect(maps.Keys(before.Paths)), slices.Sorted(maps.Keys(after.Paths)))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Thing", "Thing_v2", objectMeta + "_v2"}, added(slices.Collect(maps.Keys(before.Definitions)), slices.Sorted(maps.Keys(after.Definitions)))); diff != "" {
		t.Error(diff)
	}
	if got := after.Paths["/api/v1/pods"].Get.OperationID; got == "steal" {
		t.Error("another server has changed a path of this one")
	}
	if string(before.Definitions[objectMeta]) != string(after.Definitions[objectMeta]) {
		t.Error("another server has changed a definition of this one")
	}
	w := get(t, all, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	parsed := &openapi_v2.Document{}
	if err := proto.Unmarshal(w.Body.Bytes(), parsed); err != nil || len(parsed.GetPaths().GetPath()) != len(after.Paths) {
		t.Errorf("protobuf: %d, %v", w.Code, err)
	}
}

// FuzzReadRemote reads arbitrary documents: an accepted document can be merged and encoded.
func FuzzReadRemote(f *testing.F) {
	f.Add(thingsDocument(operation("/apis/things.example.com/v1/things", "listThings", "Thing"), `"Thing":{"type":"object"}`))
	f.Add(`{"swagger":"2.0","info":{"title":"a","version":"b"},"paths":{}}`)
	f.Add(`{"paths":{"/apis/things.example.com/v1/":null},"definitions":{"a":{"$ref":"#/definitions/a"}}}`)
	own := New(resources.NewTable(), "v1.37.2")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ReadRemote([]byte(text), things)
		if err != nil {
			return
		}
		for range 2 { // the second time, it conflicts with itself
			all := own.WithRemote([]*Remote{r, r})
			if w := get(t, all, "/openapi/v2", "application/json"); w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
}
