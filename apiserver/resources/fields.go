package resources

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// The field labels that are selectable for every object.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// FieldsOf returns the selectable fields of obj, including those of its metadata, in
// the form that a selector matches. It copies nothing: the values are read from obj on
// demand.
func (r *Resource) FieldsOf(obj runtime.Object) fields.Fields { return lazyFields{row: r, obj: obj} }

type lazyFields struct {
	row *Resource
	obj runtime.Object
}

func (f lazyFields) Has(label string) bool { return f.row.selects(label) }

// selects reports whether label is a selectable field.
func (r *Resource) selects(label string) bool {
	return label == fieldName || label == fieldNamespace && r.Namespaced || slices.Contains(r.SelectableFields, label)
}

func (f lazyFields) Get(label string) string {
	if label == fieldName || label == fieldNamespace {
		m, err := meta.Accessor(f.obj)
		switch {
		case err != nil:
			return ""
		case label == fieldName:
			return m.GetName()
		}
		return m.GetNamespace()
	}
	if f.row.Field == nil || !f.Has(label) {
		return ""
	}
	return f.row.Field(f.obj, label)
}

func boolField(b bool) string { return strconv.FormatBool(b) }
