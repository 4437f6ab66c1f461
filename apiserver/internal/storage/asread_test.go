package storage_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// TestWrittenAsRead writes arbitrary objects of every kind: the results of the write and
// the cache's copies, neither of which is decoded, equal what a get decodes.
func TestWrittenAsRead(t *testing.T) {
	const tries = 20
	for _, row := range resources.BuiltinFor(resources.AllFeatures()).All() {
		if !row.IsStored() || row.Storage != nil {
			continue
		}
		t.Run(row.GVR().String(), func(t *testing.T) {
			s := store.NewMemory()
			objects := storage.New(storage.Config{Resource: row, Store: s, Decoder: codec.NewDecoder(clientscheme.Scheme), Clock: clock.Real()})
			defer func() {
				objects.Close()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			key := objects.Key("ns", "a")
			for seed := range int64(tries) {
				written := arbitrary(t, row, seed)
				result, err := objects.Update(t.Context(), key, "a", func(runtime.Object) (runtime.Object, error) { return written, nil }, storage.UpdateOptions{CreateIfMissing: true})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				read, err := objects.Get(t.Context(), key, "a")
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				cached, err := objects.Known(t.Context(), key)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for what, obj := range map[string]runtime.Object{"answer": result.Object, "cache": cached} {
					if diff := cmp.Diff(jsonOf(t, read), jsonOf(t, obj)); diff != "" {
						t.Fatalf("seed %d: %s differs from what is stored:\n%s", seed, what, diff)
					}
				}
			}
		})
	}
}

func jsonOf(t *testing.T, obj runtime.Object) any {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var content any
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// arbitrary returns an object as preparation may leave it: with the kind's defaults, and
// with empty lists and maps where its JSON had them.
func arbitrary(t *testing.T, row *resources.Resource, seed int64) runtime.Object {
	t.Helper()
	obj := row.New()
	randfill.NewWithSeed(seed).NilChance(0.2).NumElements(0, 2).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(9000), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31n(200)) },
		func(raw *runtime.RawExtension, _ randfill.Continue) { raw.Raw = []byte(`{}`) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.Raw = []byte(`{}`) },
		func(*metav1.TypeMeta, randfill.Continue) {},
	).Fill(obj)
	sent, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	obj = row.New()
	if err := json.Unmarshal(sent, obj); err != nil {
		t.Fatal(err)
	}
	m := obj.(metav1.Object)
	m.SetName("a")
	m.SetNamespace("ns")
	if row.Strategy.Default != nil {
		row.Strategy.Default(obj)
	}
	return obj
}
