package storage

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// unkept finds the values of a type that JSON shows but protobuf does not keep: an empty list
// ("rules": []) is read back as null, and a null in a map of lists or bytes as an empty value. The
// response to a write of such an object must be decoded from the stored bytes, so that it equals a
// later get. The plan has only the fields that lead to such values: most types have few, some none
// (nil).
type unkept struct {
	fields []unkeptField
}

type unkeptField struct {
	index int
	// shown reports that JSON shows an empty list or map in the field itself.
	shown bool
	// nulls reports that the field is a map of lists or bytes.
	nulls bool
	// inner is the plan of the structs in the field; nil if they need none.
	inner *unkept
}

// in reports whether obj has a value that is not kept.
func (u *unkept) in(obj runtime.Object) bool {
	return u != nil && u.inStruct(reflect.ValueOf(obj).Elem())
}

func (u *unkept) inStruct(v reflect.Value) bool {
	for i := range u.fields {
		f := &u.fields[i]
		field := v.Field(f.index)
		switch {
		case f.shown && field.Len() == 0 && !field.IsNil(),
			f.nulls && hasNull(field),
			f.inner != nil && f.inner.under(field):
			return true
		}
	}
	return false
}

// under checks the structs that v is, points to or contains.
func (u *unkept) under(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return u.inStruct(v)
	case reflect.Pointer:
		return !v.IsNil() && u.under(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if u.under(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for values := v.MapRange(); values.Next(); {
			if u.under(values.Value()) {
				return true
			}
		}
	}
	return false
}

func hasNull(v reflect.Value) bool {
	for values := v.MapRange(); values.Next(); {
		if values.Value().IsNil() {
			return true
		}
	}
	return false
}

// newUnkept returns the plan of a struct type; within are the types that contain it.
func newUnkept(t reflect.Type, within ...reflect.Type) *unkept {
	if slices.Contains(within, t) {
		return nil // recursive types are not stored as protobuf
	}
	u := &unkept{}
	for i := range t.NumField() {
		field := t.Field(i)
		f := unkeptField{index: i, shown: showsEmpty(&field), nulls: field.Type.Kind() == reflect.Map && field.Type.Elem().Kind() == reflect.Slice}
		if inner := structUnder(field.Type); inner != nil {
			f.inner = newUnkept(inner, append(within, t)...)
		}
		if f.shown || f.nulls || f.inner != nil {
			u.fields = append(u.fields, f)
		}
	}
	if len(u.fields) == 0 {
		return nil
	}
	return u
}

// showsEmpty reports whether JSON shows an empty list or map in a field. Empty bytes are kept by
// protobuf.
func showsEmpty(field *reflect.StructField) bool {
	kind := field.Type.Kind()
	if kind != reflect.Map && (kind != reflect.Slice || field.Type.Elem().Kind() == reflect.Uint8) {
		return false
	}
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.IsExported() && name != "-" && !strings.Contains(options, "omitempty")
}

// structUnder returns the struct that a type is, points to or contains; nil for none.
func structUnder(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
