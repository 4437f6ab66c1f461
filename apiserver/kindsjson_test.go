package apiserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// TestKindsReadAsWritten creates an object of every kind. The responses to the create, a
// get, a list and an update without changes have the same bytes, which upstream's serializer
// writes for the kind's Go type after a round trip through protobuf.
func TestKindsReadAsWritten(t *testing.T) {
	files, err := filepath.Glob("internal/resources/testdata/create/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	created := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			manifest := readManifest(t, file)
			if readsAsWritten(t, manifest) {
				created[manifest.GetAPIVersion()+" "+manifest.GetKind()] = true
			}
		})
	}
	for _, row := range allKinds().All() {
		kind := row.GroupVersion().String() + " " + row.Kind
		if row.IsStored() && !created[kind] {
			t.Errorf("no %s was created", kind)
		}
	}
}

// allKinds is the table with all features.
func allKinds() *resources.Table {
	return resources.BuiltinFor(resources.AllFeatures())
}

func readManifest(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// readsAsWritten reports whether the object can be created: some need other objects.
func readsAsWritten(t *testing.T, manifest *unstructured.Unstructured) bool {
	t.Helper()
	h := start(t, func(o *apiserver.Options) { o.Resources = allKinds() })
	row := allKinds().ByKind(manifest.GroupVersionKind())
	path := pathOf(row)
	if row.Namespaced {
		manifest.SetNamespace(metav1.NamespaceDefault)
	}
	r := h.send("POST", path, asJSON(t, manifest.Object))
	if r.code != 201 {
		return false
	}
	made := &metav1.PartialObjectMetadata{}
	r.into(t, made)
	path += "/" + made.Name
	if got := h.mustSend("GET", path, "").body; !bytes.Equal(r.body, got) {
		t.Errorf("a get differs from the answer to the create:\n%s", cmp.Diff(string(r.body), string(got)))
	}
	if want := asUpstream(t, row, r.body); !bytes.Equal(r.body, want) {
		t.Errorf("upstream's serializer differs:\n%s", cmp.Diff(string(want), string(r.body)))
	}
	listed := h.mustSend("GET", pathOf(row), "").body
	untyped := bytes.TrimSpace(bytes.Replace(r.body, []byte(`"kind":"`+row.Kind+`","apiVersion":"`+row.GroupVersion().String()+`",`), nil, 1))
	if !bytes.Contains(listed, untyped) {
		t.Errorf("a list has not %s:\n%s", untyped, listed)
	}
	// An update without changes stores the same bytes.
	if again := h.send("PUT", path, string(r.body)); again.code == 200 && !bytes.Equal(r.body, again.body) {
		t.Errorf("an update that changes nothing:\n%s", cmp.Diff(string(r.body), string(again.body)))
	}
	return true
}

// pathOf returns the path of a kind's objects, in the namespace default.
func pathOf(row *resources.Resource) string {
	path := "/apis/" + row.GroupVersion().String()
	if row.Group == corev1.GroupName {
		path = "/api/" + row.Version
	}
	if row.Namespaced {
		path += "/namespaces/default"
	}
	return path + "/" + row.Plural
}

// asUpstream decodes an object into its Go type, encodes it to protobuf and back, and
// encodes it with upstream's serializer. The row sets what protobuf does not keep, as
// upstream's conversions do.
func asUpstream(t *testing.T, row *resources.Resource, body []byte) []byte {
	t.Helper()
	obj := row.New()
	if err := json.Unmarshal(body, obj); err != nil {
		t.Fatal(err)
	}
	form := func(mediaType string) runtime.Encoder {
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		return scheme.Codecs.EncoderForVersion(info.Serializer, row.GroupVersion())
	}
	stored := must(runtime.Encode(form(runtime.ContentTypeProtobuf), obj))(t)
	read := must(runtime.Decode(scheme.Codecs.UniversalDeserializer(), stored))(t)
	if row.Strategy.Default != nil {
		row.Strategy.Default(read)
	}
	return must(runtime.Encode(form(runtime.ContentTypeJSON), read))(t)
}

// TestEmptyListsAsRead creates objects with empty lists, which JSON shows and protobuf
// does not keep: as upstream, the response and every read have null.
func TestEmptyListsAsRead(t *testing.T) {
	h := start(t)
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	for _, test := range []struct{ path, name, body, want string }{
		{roles, "r", `{"metadata":{"name":"r"},"rules":[]}`, `"rules":null`},
		{"/apis/storage.k8s.io/v1/csinodes", "n", `{"metadata":{"name":"n"},"spec":{"drivers":[]}}`, `"spec":{"drivers":null},"status":{}`},
		{"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "e", `{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[],"ports":[]}`, `"endpoints":null,"ports":null`},
		{"/api/v1/namespaces/default/secrets", "s", `{"metadata":{"name":"s"},"data":{"k":null}}`, `"data":{"k":""}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for what, r := range map[string]*reply{
				"create":  h.mustSend("POST", test.path, test.body),
				"get":     h.mustSend("GET", test.path+"/"+test.name, ""),
				"list":    h.mustSend("GET", test.path, ""),
				"dry run": h.mustSend("POST", test.path+"?dryRun=All", strings.Replace(test.body, `"name":"`, `"name":"other`, 1)),
				"patch":   h.mustSend("PATCH", test.path+"/"+test.name, `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json"),
			} {
				if !strings.Contains(string(r.body), test.want) {
					t.Errorf("%s: %s\nwant %s", what, r.body, test.want)
				}
			}
		})
	}
}

// TestDefinitionsReadAsWritten is TestKindsReadAsWritten for the kinds that are stored as
// JSON.
func TestDefinitionsReadAsWritten(t *testing.T) {
	h := start(t)
	const definitions, services = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/apiregistration.k8s.io/v1/apiservices"
	empty := `{"metadata":{"name":"es.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"es","kind":"E","shortNames":[],"categories":[]},` +
		`"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[],"selectableFields":[],"schema":{"openAPIV3Schema":{"type":"object","required":[],"properties":{},"enum":[]}}}]}}`
	for _, test := range []struct{ path, name, body string }{
		{definitions, "widgets.example.com", asJSON(t, parseDefinition(t, widgetDefinition))},
		{definitions, "gates.example.com", asJSON(t, parseDefinition(t, gateDefinition))},
		{definitions, "doors.example.com", asJSON(t, parseDefinition(t, doorDefinition))},
		{definitions, "es.example.com", empty},
		{services, "v9.example.com", `{"metadata":{"name":"v9.example.com"},"spec":{"group":"example.com","version":"v9","groupPriorityMinimum":1000,"versionPriority":10}}`}, // the status of one with a Service changes
	} {
		t.Run(test.name, func(t *testing.T) {
			made := h.mustSend("POST", test.path, test.body)
			got := h.mustSend("GET", test.path+"/"+test.name, "")
			if !bytes.Equal(made.body, got.body) {
				t.Errorf("a get differs from the answer to the create:\n%s", cmp.Diff(string(made.body), string(got.body)))
			}
			var one unstructured.Unstructured
			got.into(t, &one.Object)
			listed := item(t, h.mustSend("GET", test.path, "").body, test.name)
			delete(one.Object, "kind")
			delete(one.Object, "apiVersion")
			if diff := cmp.Diff(one.Object, listed.Object); diff != "" {
				t.Errorf("a list differs from a get:\n%s", diff)
			}
			if again := h.mustSend("PUT", test.path+"/"+test.name, string(got.body)); !bytes.Equal(again.body, got.body) {
				t.Errorf("an update that changes nothing:\n%s", cmp.Diff(string(got.body), string(again.body)))
			}
		})
	}
}
