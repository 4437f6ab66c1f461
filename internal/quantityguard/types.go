package quantityguard

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// fields are the fields of a struct type through which quantities can be reached.
type fields struct {
	byName   map[string]reflect.Type
	byNumber map[int]reflect.Type
}

// known has the fields of each struct type that was looked at. The API's types are not many.
var known sync.Map // from reflect.Type to fields

func fieldsOf(of reflect.Type) fields {
	if f, ok := known.Load(of); ok {
		return f.(fields)
	}
	f, reaches := fields{map[string]reflect.Type{}, map[int]reflect.Type{}}, reaching{}
	for i := range of.NumField() {
		structField := of.Field(i)
		name, _, _ := strings.Cut(structField.Tag.Get("json"), ",")
		if !structField.IsExported() || name == "-" || !reaches.quantity(structField.Type, nil) {
			continue
		}
		if name == "" && structField.Anonymous {
			for name, inner := range fieldsOf(structField.Type).byName {
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
	known.Store(of, f)
	return f
}

// reaching has the answers that quantity gave.
type reaching map[reflect.Type]bool

// quantity reports whether a value of a type can contain a quantity. Types within which the type
// occurs are not asked again.
func (r reaching) quantity(of reflect.Type, within []reflect.Type) bool {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of == quantityType {
		return true
	}
	if of.Kind() != reflect.Struct || slices.Contains(within, of) {
		return false
	}
	has, ok := r[of]
	if ok {
		return has
	}
	for i := 0; i < of.NumField() && !has; i++ {
		has = r.quantity(of.Field(i).Type, append(within, of))
	}
	if has || len(within) == 0 {
		r[of] = has
	}
	return has
}
