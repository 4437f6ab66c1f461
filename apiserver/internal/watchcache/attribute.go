package watchcache

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// attribute is a label or a field of entries.
type attribute struct {
	name    string
	isField bool
}

// of returns the value that e has; ok is false for an entry without the label.
func (a attribute) of(e *Entry) (value string, ok bool) {
	if a.isField {
		return e.Fields.Get(a.name), true
	}
	value, ok = e.Labels[a.name]
	return value, ok
}

// required is an attribute and the value that a selector requires.
type required struct {
	attribute
	value string
}

// requires returns the attributes of which the selectors require one value.
func (f *filter) requires() (all []required) {
	if f.field != nil {
		for _, r := range f.field.Requirements() {
			if isExact(r) {
				all = append(all, required{attribute{r.Field, true}, r.Value})
			}
		}
	}
	if f.label != nil {
		requirements, _ := f.label.Requirements()
		for i := range requirements {
			if value, ok := exactValue(&requirements[i]); ok {
				all = append(all, required{attribute{requirements[i].Key(), false}, value})
			}
		}
	}
	return all
}

func isExact(r fields.Requirement) bool {
	return r.Operator == selection.Equals || r.Operator == selection.DoubleEquals
}

func exactValue(r *labels.Requirement) (value string, ok bool) {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		if values := r.ValuesUnsorted(); len(values) == 1 {
			return values[0], true
		}
	}
	return "", false
}
