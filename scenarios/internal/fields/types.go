package fields

import (
	"reflect"
	"strings"
)

// namesAt returns the names of the fields beside path in the JSON of a typed object.
func namesAt(typed any, path string) []string {
	t := reflect.TypeOf(typed)
	parent := ""
	if at := strings.LastIndex(path, "."); at >= 0 {
		parent = path[:at]
	}
	for part := range strings.SplitSeq(parent, ".") {
		name, indices, _ := strings.Cut(part, "[")
		if name != "" {
			t = fieldOf(t, name)
		}
		for range strings.Count(indices, "]") {
			t = elementOf(t)
		}
	}
	var names []string
	each(t, func(name string, _ reflect.Type) { names = append(names, name) })
	return names
}

// each calls do for the fields of a struct, by their JSON names.
func each(t reflect.Type, do func(name string, t reflect.Type)) {
	t = pointed(t)
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			each(f.Type, do)
		case name != "" && name != "-":
			do(name, f.Type)
		}
	}
}

// fieldOf returns the type of a field, or of a map's values; nil if there is none.
func fieldOf(t reflect.Type, name string) (found reflect.Type) {
	if t = pointed(t); t != nil && t.Kind() == reflect.Map {
		return t.Elem()
	}
	each(t, func(n string, t reflect.Type) {
		if n == name {
			found = t
		}
	})
	return found
}

func elementOf(t reflect.Type) reflect.Type {
	if t = pointed(t); t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

func pointed(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// kindOf returns JSON's name for a type, with its article.
func kindOf(t reflect.Type) string {
	switch t = pointed(t); t.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Map:
		return "a map"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}
