package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// TestStrategiesTakeAnything passes nonsensical objects to every row: nothing may
// panic, defaults must be idempotent, and the cells must fit the columns.
func TestStrategiesTakeAnything(t *testing.T) {
	const tries = 25
	for _, row := range BuiltinFor(AllFeatures()).All() {
		t.Run(row.GVR().String(), func(t *testing.T) {
			for seed := range int64(tries) {
				obj, old := anything(row, seed), anything(row, seed+tries)
				takes(t, row, obj, old)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func anything(row *Resource, seed int64) runtime.Object {
	fill := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 2).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(9000)-1000, resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31n(200) - 50)
			if c.Bool() {
				*v = intstr.FromString(c.String(0))
			}
		},
		func(raw *runtime.RawExtension, _ randfill.Continue) { raw.Raw = []byte(`{}`) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = metav1.FieldsV1{} },
	)
	obj := row.New()
	if seed > 0 {
		fill.Fill(obj)
	}
	return obj
}

func takes(t *testing.T, row *Resource, obj, old runtime.Object) {
	s := &row.Strategy
	if s.Default != nil {
		s.Default(obj)
		s.Default(old)
		once := obj.DeepCopyObject()
		s.Default(obj)
		if !apiequality.Semantic.DeepEqual(once, obj) {
			t.Errorf("defaults are not stable (-once +twice):\n%s", cmp.Diff(once, obj))
		}
	}
	if s.PrepareCreate != nil {
		s.PrepareCreate(old)
	}
	if s.Validate != nil {
		s.Validate(obj)
		s.Validate(old)
	}
	for _, prepare := range []func(obj, old runtime.Object){s.PrepareUpdate, s.PrepareStatusUpdate} {
		if prepare != nil {
			prepare(obj, old)
		}
	}
	if s.ValidateUpdate != nil {
		s.ValidateUpdate(obj, old)
	}
	if s.ValidateStatusUpdate != nil {
		s.ValidateStatusUpdate(obj, old)
	}
	if s.Warnings != nil {
		s.Warnings(obj, old)
	}
	for _, label := range row.SelectableFields {
		row.Field(obj, label)
	}
	if row.Cells != nil {
		if cells := row.Cells(obj, noon); len(cells) != len(row.Columns) {
			t.Errorf("%d cells for %d columns", len(cells), len(row.Columns))
		}
	}
	if row.Storage != nil {
		row.Storage.From(row.Storage.To(obj))
	}
	for i := range row.Subresources {
		takesSubresource(&row.Subresources[i], obj, old)
	}
}

func takesSubresource(sub *Subresource, obj, old runtime.Object) {
	if sub.Get != nil {
		if shown, err := sub.Get(obj); err == nil && sub.Writes() {
			_ = sub.WriteInto(old.DeepCopyObject(), shown, noon)
		}
	}
	if sub.Delete != nil {
		sub.Delete(sub.New())
	}
}
