package apiserver_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// apply applies a manifest as a manager, and returns the resourceVersion.
func (h *harness) apply(path, manager string, manifest map[string]any) string {
	h.t.Helper()
	r := h.mustSend("PATCH", path+"?force=true&fieldManager="+manager, asJSON(h.t, manifest), "Content-Type", "application/apply-patch+yaml")
	made := &metav1.PartialObjectMetadata{}
	r.into(h.t, made)
	return made.ResourceVersion
}

// TestApplyingAgainWritesNothing applies the manifest of each kind twice, at different times, also after
// another manager has applied it.
func TestApplyingAgainWritesNothing(t *testing.T) {
	eachKind(t, anyKind, func(t *testing.T, o *kindObject) {
		o.manifest.SetName(nameIn(t, o.created))
		o.manifest.SetGenerateName("")
		o.manifest.SetUID("")
		twice := func(path, manager string) {
			o.apply(path, manager, o.manifest.Object)
			o.advance(o.clock, 5*time.Second)
			var diff string
			for range 2 { // the server writes the status of an APIService at any time, once
				before := o.mustSend("GET", o.path, "").body
				if o.apply(path, manager, o.manifest.Object) == o.versionOf(before) {
					return
				}
				diff = cmp.Diff(string(before), string(o.mustSend("GET", o.path, "").body))
			}
			t.Errorf("applying it again to %s as %s:\n%s", path, manager, diff)
		}
		twice(o.path, "one")
		twice(o.path, "two")
		if o.row.Subresource("status") != nil {
			twice(o.path+"/status", "three")
		}
	})
}

// TestApplyingUnnormalizedAgain applies manifests twice whose values are stored in another form, or get defaults where
// one manager owns the whole.
func TestApplyingUnnormalizedAgain(t *testing.T) {
	data, err := os.ReadFile("testdata/applyagain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	h, virtual := startAllKinds(t)
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		manifest := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &manifest.Object); err != nil {
			t.Fatal(err)
		}
		t.Run(manifest.GetKind()+" "+manifest.GetName(), func(t *testing.T) {
			path := "/apis/hunt.example/v1/namespaces/default/machines"
			if row := servedKinds().ByKind(manifest.GroupVersionKind()); row != nil {
				path = pathOf(row)
			}
			path += "/" + manifest.GetName()
			first := h.apply(path, "one", manifest.Object)
			h.advance(virtual, 5*time.Second)
			if again := h.apply(path, "one", manifest.Object); again != first {
				t.Errorf("applying it again wrote revision %s after %s:\n%s", again, first, h.mustSend("GET", path, "").body)
			}
		})
	}
}
