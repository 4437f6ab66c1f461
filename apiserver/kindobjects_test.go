package apiserver_test

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/clock"
)

// kindObject is an object of one kind, in a server of its own with a virtual clock.
type kindObject struct {
	*harness
	clock    *clock.Virtual
	row      *resources.Resource
	manifest *unstructured.Unstructured
	// path is the object's, created the answer to its creation.
	path    string
	created *reply
}

const apiServiceManifest = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.elsewhere.example.com}
spec:
  group: elsewhere.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: server, namespace: default}
`

// servedKinds are the built-in kinds, with all features, the definitions and the APIServices.
func servedKinds() *resources.Table {
	scheme := runtime.NewScheme()
	return allKinds().With(crd.Row(scheme), apiservices.Row(scheme, func() metav1.Time { return metav1.Time{} }))
}

// kindManifests returns manifests of all served kinds, and of a custom one.
func kindManifests(t *testing.T) map[schema.GroupVersionKind][]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("internal/resources/testdata/create/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	all := map[schema.GroupVersionKind][]*unstructured.Unstructured{}
	add := func(manifest *unstructured.Unstructured) {
		all[manifest.GroupVersionKind()] = append(all[manifest.GroupVersionKind()], manifest)
	}
	for _, file := range files {
		add(readManifest(t, file))
	}
	for _, text := range []string{widgetDefinition, apiServiceManifest} {
		manifest := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &manifest.Object); err != nil {
			t.Fatal(err)
		}
		add(manifest)
	}
	return all
}

// eachKind runs test for each stored kind that is wanted, and for the custom kind Widget, with an
// object of the first manifest that a new server accepts: some need other objects.
func eachKind(t *testing.T, wanted func(*resources.Resource) bool, test func(t *testing.T, o *kindObject), change ...func(*apiserver.Options)) {
	t.Helper()
	manifests := kindManifests(t)
	for _, row := range servedKinds().All() {
		if !row.IsStored() || !wanted(row) {
			continue
		}
		t.Run(row.Plural+"."+row.Group+"."+row.Version, func(t *testing.T) {
			h, virtual := startAllKinds(t, change...)
			for _, manifest := range manifests[row.GroupVersionKind] {
				if row.Namespaced {
					manifest.SetNamespace(metav1.NamespaceDefault)
				}
				if r := h.send("POST", pathOf(row), asJSON(t, manifest.Object)); r.code == 201 {
					h.idle() // The server itself writes the statuses of APIServices and definitions.
					test(t, &kindObject{harness: h, clock: virtual, row: row, manifest: manifest, path: pathOf(row) + "/" + nameIn(t, r), created: r})
					return
				}
			}
			t.Fatal("no manifest is accepted")
		})
	}
	widget := &resources.Resource{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Plural: "widgets", Namespaced: true, Custom: true,
		Subresources: []resources.Subresource{{Name: "status"}, {Name: "scale"}},
	}
	if !wanted(widget) {
		return
	}
	t.Run("widgets.example.com.v1", func(t *testing.T) {
		h, virtual := startAllKinds(t, change...)
		newCustoms(t, h, inMemory().config(h)).define(widgetDefinition)
		manifest := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": metav1.NamespaceDefault},
			"spec": map[string]any{"size": int64(3), "replicas": int64(1), "ports": []any{map[string]any{"name": "a", "port": int64(80)}}},
		}}
		r := h.mustSend("POST", pathOf(widget), asJSON(t, manifest.Object))
		test(t, &kindObject{harness: h, clock: virtual, row: widget, manifest: manifest, path: pathOf(widget) + "/w", created: r})
	})
}

// anyKind wants all kinds.
func anyKind(*resources.Resource) bool { return true }

func startAllKinds(t *testing.T, change ...func(*apiserver.Options)) (*harness, *clock.Virtual) {
	t.Helper()
	return startVirtual(t, append([]func(*apiserver.Options){func(o *apiserver.Options) { o.Resources = allKinds() }}, change...)...)
}

// versionOf returns the resourceVersion of an encoded object.
func (o *kindObject) versionOf(body []byte) string {
	o.t.Helper()
	m := &metav1.PartialObjectMetadata{}
	(&reply{body: body}).into(o.t, m)
	return m.ResourceVersion
}

func nameIn(t testing.TB, r *reply) string {
	t.Helper()
	made := &metav1.PartialObjectMetadata{}
	r.into(t, made)
	return made.Name
}
