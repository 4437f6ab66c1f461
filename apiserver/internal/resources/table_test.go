package resources

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestBuiltin checks the invariants of every row that the generic code relies on.
func TestBuiltin(t *testing.T) {
	table := Builtin()
	for _, row := range table.All() {
		t.Run(row.GVR().String(), func(t *testing.T) {
			makesKind(t, row.New, row.GroupVersionKind)
			if row.Create == nil {
				makesKind(t, row.NewList, row.GroupVersion().WithKind(row.ListKind))
			}
			if table.ByKind(row.GroupVersionKind) != row {
				t.Error("not found by its kind")
			}
			if table.Lookup(row.GVR()) != row {
				t.Error("not found by its name")
			}
			if (row.Columns == nil) != (row.Cells == nil) {
				t.Error("columns without cells, or cells without columns")
			}
			if row.Storage != nil && table.Lookup(row.Storage.Resource) == nil {
				t.Errorf("no row stores it as %v", row.Storage.Resource)
			}
			for _, verb := range row.Verbs {
				if !slices.Contains(AllVerbs, verb) {
					t.Errorf("unknown verb %s", verb)
				}
			}
			for i := range row.Subresources {
				checkSubresource(t, &row.Subresources[i])
			}
			obj := row.New()
			for _, label := range row.SelectableFields {
				if row.Field == nil {
					t.Fatal("selectable fields without values")
				}
				row.Field(obj, label)
			}
		})
	}
}

func makesKind(t *testing.T, newObject func() runtime.Object, want schema.GroupVersionKind) {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(newObject())
	if err != nil || !slices.Contains(kinds, want) {
		t.Errorf("makes %v (%v), not %v", kinds, err, want)
	}
}

func checkSubresource(t *testing.T, sub *Subresource) {
	t.Helper()
	if sub.Connect != nil {
		return
	}
	makesKind(t, sub.New, sub.GroupVersionKind)
	if sub.Name == "status" {
		return
	}
	if sub.Update != nil && sub.UpdateAt != nil {
		t.Errorf("%s: two ways to write", sub.Name)
	}
	if slices.Contains(sub.Verbs, "get") && sub.Get == nil {
		t.Errorf("%s: nothing to get", sub.Name)
	}
	writes := slices.Contains(sub.Verbs, "create") || slices.Contains(sub.Verbs, "update")
	if writes && !sub.Writes() && sub.Delete == nil && sub.Create == nil {
		t.Errorf("%s: no way to write", sub.Name)
	}
}

func TestTableOrder(t *testing.T) {
	row := func(group, version, plural string) *Resource {
		return &Resource{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: plural}, Plural: plural}
	}
	short := NewTable(row("zoo.example.com", "v1beta1", "b"), row("apps", "v1", "z"), row("", "v1", "c"))
	long := short.With(row("zoo.example.com", "v1", "a"), row("apps", "v1", "a"), row("any.example.com", "v1", "x"))
	if n := len(short.All()); n != 3 {
		t.Errorf("the shorter table has %d rows now", n)
	}
	want := []Group{
		{Versions: []string{"v1"}},
		{Name: "apps", Versions: []string{"v1"}},
		{Name: "any.example.com", Versions: []string{"v1"}},
		{Name: "zoo.example.com", Versions: []string{"v1", "v1beta1"}},
	}
	if diff := cmp.Diff(want, long.Groups()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	var names []string
	for _, r := range long.InVersion(schema.GroupVersion{Group: "apps", Version: "v1"}) {
		names = append(names, r.Plural)
	}
	if diff := cmp.Diff([]string{"a", "z"}, names); diff != "" {
		t.Errorf("rows of apps/v1 (-want +got):\n%s", diff)
	}
	if rows := long.InVersion(schema.GroupVersion{Group: "apps", Version: "v9"}); len(rows) > 0 {
		t.Errorf("%d rows of an unknown version", len(rows))
	}
}

func BenchmarkBuiltin(b *testing.B) {
	for b.Loop() {
		Builtin()
	}
}
