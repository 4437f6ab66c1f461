package storage_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/store"
)

// written returns the key and the value of a stored object of the row.
func written(t *testing.T, row *resources.Resource) (key string, value []byte) {
	t.Helper()
	s := store.NewMemory()
	objects := storage.New(storage.Config{Resource: row, Store: s, Decoder: codec.NewDecoder(clientscheme.Scheme), Clock: clock.Real()})
	defer func() {
		objects.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	namespace := ""
	if row.Namespaced {
		namespace = "NAMESPACE"
	}
	obj := row.New()
	obj.(metav1.Object).SetName("NAME")
	obj.(metav1.Object).SetNamespace(namespace)
	key = objects.Key(namespace, "NAME")
	if _, err := objects.Create(t.Context(), key, obj, false); err != nil {
		t.Fatalf("%s: %v", row.GVR(), err)
	}
	kv, err := s.Get(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The stored object can be read back.
	if _, err := objects.Get(t.Context(), key, "NAME"); err != nil {
		t.Errorf("%s: reading back: %v", row.GVR(), err)
	}
	return key, kv.Value
}

// encoding returns the format and the kind of a stored object.
func encoding(t *testing.T, value []byte) (form string, kind schema.GroupVersionKind) {
	t.Helper()
	var unknown runtime.Unknown
	if raw, isProtobuf := bytes.CutPrefix(value, []byte("k8s\x00")); isProtobuf {
		if err := unknown.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		return "protobuf", schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind)
	}
	obj, gvk, err := unstructured.UnstructuredJSONScheme.Decode(value, nil, nil)
	if err != nil || obj == nil {
		t.Fatalf("%q is neither protobuf nor JSON: %v", value, err)
	}
	return "json", *gvk
}

// keptRows returns the rows whose objects are stored.
func keptRows() []*resources.Resource {
	rows := resources.BuiltinFor(resources.AllFeatures()).With(crd.Row(clientscheme.Scheme)).All()
	return slices.DeleteFunc(slices.Clone(rows), func(row *resources.Resource) bool {
		return !row.IsStored() || row.Storage != nil
	})
}

// TestLayout checks the key, the format and the kind of each stored resource. They are as
// upstream's kube-apiserver expects them in etcd (its integration test of the storage paths
// has the same list), so a change makes data directories unreadable for others.
func TestLayout(t *testing.T) {
	var lines []string
	for _, row := range keptRows() {
		key, value := written(t, row)
		form, kind := encoding(t, value)
		lines = append(lines, fmt.Sprintf("%-75s %s %s", key, form, kind.GroupVersion().String()+" "+kind.Kind))
	}
	slices.Sort(lines)
	golden.Compare(t, "testdata/layout.golden", strings.Join(lines, "\n")+"\n")
}

// before is the minor version of the previous release, which must be able to read what
// this one writes.
const before = 36

// TestStoredVersions checks the versions against upstream's rule (KEP-4330): the newest
// version that is not alpha and that the previous release supports, or else the newest.
func TestStoredVersions(t *testing.T) {
	for _, row := range keptRows() {
		if row.Stored != nil {
			continue // definitions are an exception upstream too
		}
		_, value := written(t, row)
		_, kind := encoding(t, value)
		if want := storedVersion(t, row.GroupKind()); kind.Version != want {
			t.Errorf("%s is stored as %s, want %s", row.GroupKind(), kind.Version, want)
		}
	}
}

func storedVersion(t *testing.T, kind schema.GroupKind) string {
	t.Helper()
	var versions []string
	for _, gv := range clientscheme.Scheme.VersionsForGroupKind(kind) {
		versions = append(versions, gv.Version)
	}
	slices.SortFunc(versions, func(a, b string) int { return apimachineryversion.CompareKubeAwareVersionStrings(b, a) })
	for _, version := range versions {
		obj, err := clientscheme.Scheme.New(kind.WithVersion(version))
		if err != nil {
			t.Fatal(err)
		}
		introduced, known := obj.(interface{ APILifecycleIntroduced() (major, minor int) })
		if strings.Contains(version, "alpha") {
			continue
		}
		if !known {
			return version
		}
		if _, minor := introduced.APILifecycleIntroduced(); minor <= before {
			return version
		}
	}
	return versions[0]
}
