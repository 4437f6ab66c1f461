package resources

import (
	"fmt"
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

// FieldsOf returns the selectable fields of obj, including the fields of its metadata, in the
// form that a selector matches. It copies nothing: the values are read from obj on demand.
func (r *Resource) FieldsOf(obj runtime.Object) fields.Fields { return lazyFields{row: r, obj: obj} }

// Selectable reports whether the field selector of a request may use a label.
func (r *Resource) Selectable(label string) bool {
	switch label {
	case fieldName:
		return true
	case fieldNamespace: // cluster-scoped kinds without selectable fields accept it too
		return !r.NoNamespaceField && (r.Namespaced || len(r.SelectableFields) == 0 && !r.Custom)
	}
	return slices.Contains(r.SelectableFields, label) || r.FieldAliases[label] != ""
}

// NotSelectable returns the error text for a label that is not Selectable.
func (r *Resource) NotSelectable(label string) string {
	switch {
	case r.UnknownField != nil:
		return r.UnknownField(label)
	case r.Custom, len(r.SelectableFields) > 0:
		return "field label not supported: " + label
	}
	return fmt.Sprintf("%q is not a known field selector: only %q, %q", label, fieldName, fieldNamespace)
}

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
