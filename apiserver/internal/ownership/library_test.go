package ownership

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var converter = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// byLibrary tracks a write with apimachinery's library; ok is false for an object that
// it rejects.
func byLibrary(t testing.TB, kind schema.GroupVersionKind, w *Write) (managed []metav1.ManagedFieldsEntry, ok bool) {
	t.Helper()
	version := fieldpath.APIVersion(kind.GroupVersion().String())
	set := fieldpath.NewSet()
	for _, path := range w.Ignored {
		var names []any
		for name := range strings.SplitSeq(path, ".") {
			names = append(names, name)
		}
		set.Insert(fieldpath.MakePathOrDie(names...))
	}
	ignored := fieldpath.NewExcludeSetFilter(set)
	m, err := managedfields.NewDefaultFieldManager(converter(), scheme.Scheme, scheme.Scheme, scheme.Scheme, kind, kind.GroupVersion(), w.Subresource,
		map[fieldpath.APIVersion]fieldpath.Filter{version: ignored})
	if err != nil {
		t.Fatal(err)
	}
	live, obj := w.Live.DeepCopyObject(), w.New.DeepCopyObject()
	for _, o := range []runtime.Object{live, obj} {
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	live.(metav1.Object).SetManagedFields(w.Managed)
	obj.(metav1.Object).SetManagedFields(w.Managed)
	tracked, err := m.Update(live, obj, w.Manager)
	if err != nil {
		return w.Managed, false
	}
	return tracked.(metav1.Object).GetManagedFields(), true
}

// normal makes managed fields comparable: without times, with the sets as strings.
func normal(t testing.TB, entries []metav1.ManagedFieldsEntry) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range entries {
		e := &entries[i]
		s := &fieldpath.Set{}
		if err := s.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			t.Fatalf("%s: %v", e.FieldsV1.GetRawBytes(), err)
		}
		key := fmt.Sprintf("%s %s %s %s", e.Manager, e.Operation, e.APIVersion, e.Subresource)
		out[key] = strings.Join(strings.Split(s.String(), "\n"), "\n")
	}
	return out
}

// filler returns a filler of random objects. It has few values, so that lists share
// elements and values stay the same.
func filler(seed int64) *randfill.Filler {
	words := []string{"a", "b", "c", `q"<`}
	return randfill.New().RandSource(rand.NewSource(seed)).NilChance(.4).NumElements(1, 3).MaxDepth(9).Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(n *int32, c randfill.Continue) { *n = int32(c.Intn(3)) },
		func(n *int64, c randfill.Continue) { *n = int64(c.Intn(3)) },
		func(r *runtime.RawExtension, _ randfill.Continue) { *r = runtime.RawExtension{} },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte(`{}`)) },
		func(e *[]metav1.ManagedFieldsEntry, _ randfill.Continue) { *e = nil },
		func(_ *metav1.TypeMeta, _ randfill.Continue) {},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Intn(3)), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.MicroTime(metav1.Unix(int64(c.Intn(3)), 0))
		},
	)
}

// For every kind, sequences of random writes have the same managers as with the
// library.
func TestAgreesWithTheLibrary(t *testing.T) {
	tracker := NewTracker()
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		if hasNoSchema(kind) {
			continue
		}
		if _, isObject := reflect.New(goType).Interface().(metav1.Object); !isObject || strings.Contains(kind.Version, "alpha") || strings.Contains(kind.Version, "beta") {
			continue
		}
		t.Run(kind.GroupVersion().String()+" "+kind.Kind, func(t *testing.T) {
			left := 0
			for seed := range int64(12) {
				left += sequence(t, tracker, kind, goType, seed)
			}
			t.Logf("%d writes left to the library", left)
		})
	}
}

// hasNoSchema reports whether client-go has no schema for a kind: those that are not
// stored.
func hasNoSchema(kind schema.GroupVersionKind) bool {
	return kind.Group == "authorization.k8s.io" || kind.Group == "authentication.k8s.io" ||
		slices.Contains([]string{"Scale", "Binding", "RangeAllocation"}, kind.Kind)
}

func sequence(t *testing.T, tracker *Tracker, kind schema.GroupVersionKind, goType reflect.Type, seed int64) (left int) {
	fill := filler(seed)
	object := func() runtime.Object {
		obj := reflect.New(goType).Interface().(runtime.Object)
		fill.Fill(obj)
		obj.(metav1.Object).SetUID("u")
		return obj
	}
	live := reflect.New(goType).Interface().(runtime.Object)
	var managed []metav1.ManagedFieldsEntry
	for i, manager := range []string{"one", "two", "one", "three"} {
		w := &Write{Live: live, New: object(), Managed: managed, Manager: manager, APIVersion: kind.GroupVersion().String(), Ignored: []string{"status"}}
		if i%2 == 1 {
			w.Subresource, w.Ignored = "status", [][]string{{"spec"}, {"spec", "metadata"}, {"spec", "metadata.labels", "status.conditions"}}[(int(seed)+i)%3]
		}
		want, valid := byLibrary(t, kind, w)
		got, ok := tracker.Track(w)
		if !ok {
			left++
		} else if diff := cmp.Diff(normal(t, want), normal(t, got)); valid && diff != "" {
			t.Fatalf("seed %d, write %d by %s:\n%s", seed, i, manager, diff)
		}
		live, managed = w.New, want
		if len(managed) == 0 {
			break // from then on nothing is tracked
		}
	}
	return left
}
