package quantityguard

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// fields are the fields of a struct type through which quantities can be reached.
type fields struct {
	byName   map[string]reflect.Type
	byNumber map[int]reflect.Type
}

// types are the types that were looked at for one document.
type types struct {
	known   map[reflect.Type]fields
	reaches map[reflect.Type]bool
}

func newTypes() types {
	return types{known: map[reflect.Type]fields{}, reaches: map[reflect.Type]bool{}}
}

func (t types) fieldsOf(of reflect.Type) fields {
	if f, ok := t.known[of]; ok {
		return f
	}
	f := fields{map[string]reflect.Type{}, map[int]reflect.Type{}}
	for i := range of.NumField() {
		structField := of.Field(i)
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		if !structField.IsExported() || name == "-" || !t.hasQuantity(structField.Type, nil) {
			continue
		}
		if name == "" && structField.Anonymous {
			for name, inner := range t.fieldsOf(structField.Type).byName {
				f.byName[name] = inner
			}
		} else {
			f.byName[name] = structField.Type
		}
		if tag := strings.Split(structField.Tag.Get("protobuf"), ","); len(tag) > 1 { // "bytes,3,opt,..."
			if number, err := strconv.Atoi(tag[1]); err == nil {
				f.byNumber[number] = structField.Type
			}
		}
	}
	t.known[of] = f
	return f
}

// hasQuantity reports whether a value of a type can contain a quantity. Types within which the type
// occurs are not asked again.
func (t types) hasQuantity(of reflect.Type, within []reflect.Type) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of == quantityType {
		return true
	}
	if of.Kind() != reflect.Struct || slices.Contains(within, of) {
		return false
	}
	has, ok := t.reaches[of]
	if ok {
		return has
	}
	for i := 0; i < of.NumField() && !has; i++ {
		has = t.hasQuantity(of.Field(i).Type, append(within, of))
	}
	if has || len(within) == 0 {
		t.reaches[of] = has
	}
	return has
}
