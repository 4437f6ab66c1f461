package fieldplan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Mask is a set of marks: bit i is mark i.
type Mask uint64

// MaxMarks is the number of marks that a plan can have.
const MaxMarks = 64

// Selector returns the marks of the selected fields of a type by their names in JSON. A field of the content of one of its fields is
// named by the path to it, such as containers.restartPolicy. The type is the one that declares the field, or one into which that type is
// inlined; New calls the Selector with both, once each.
type Selector func(t reflect.Type) (marks map[string]int)

// Plan is the way to the selected fields of a type. A nil plan has none.
type Plan struct{ steps []step }

// step is a field on the way, or a selected one.
type step struct {
	index int
	// name is the name in JSON; "" for an inlined struct.
	name string
	// mark is the mark of a selected field; -1 for other fields.
	mark  int
	below *Plan
}

// New returns the plan of a type, which may be a pointer; nil if no field is selected. Fields of recursive
// types are found once.
func New(t reflect.Type, selects Selector) *Plan {
	b := &builder{selects: selects, selected: map[reflect.Type]map[string]int{}, under: map[reflect.Type]bool{}}
	return b.plan(t, nil)
}

type builder struct {
	selects Selector
	// selected keeps what the Selector has returned.
	selected map[reflect.Type]map[string]int
	// way are the fields on the way to the type whose plan is made.
	way []place
	// under are the types on the way, so that a recursive one ends it.
	under map[reflect.Type]bool
}

// place is a field on the way: its name, the type that declares it, and the struct in it.
type place struct {
	name            string
	owner, contains reflect.Type
}

// of returns the marks of a type's fields.
func (b *builder) of(t reflect.Type) map[string]int {
	marks, known := b.selected[t]
	if !known {
		marks = b.selects(t)
		b.selected[t] = marks
	}
	return marks
}

// mark returns the mark of a field of a type. A path that begins further outside comes first.
func (b *builder) mark(t reflect.Type, field string) (mark int, ok bool) {
	mark, ok = b.of(t)[field]
	names := 0
	for i := len(b.way) - 1; i >= 0 && b.way[i].contains == t; i-- {
		names++
		t = b.way[i].owner
		marks := b.of(t)
		if len(marks) == 0 {
			continue
		}
		path := field
		for _, place := range slices.Backward(b.way[len(b.way)-names:]) {
			path = place.name + "." + path
		}
		if outside, selected := marks[path]; selected {
			mark, ok = outside, true
		}
	}
	return mark, ok
}

// plan returns the plan of a type; outer are the types into which it is inlined.
func (b *builder) plan(t reflect.Type, outer []reflect.Type) *Plan {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return b.plan(t.Elem(), nil)
	case reflect.Struct:
	default:
		return nil
	}
	if b.under[t] {
		return nil
	}
	b.under[t] = true
	defer delete(b.under, t)
	p := &Plan{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline := jsonName(f)
		switch {
		case inline:
			if below := b.plan(f.Type, append(slices.Clone(outer), t)); below != nil {
				p.steps = append(p.steps, step{index: i, mark: -1, below: below})
			}
			continue
		case name == "":
			continue
		}
		s := step{index: i, name: name, mark: -1}
		for _, of := range append(slices.Clone(outer), t) {
			if mark, ok := b.mark(of, name); ok {
				s.mark = mark
			}
		}
		if s.mark < 0 {
			s.below = b.below(f.Type, t, name)
		}
		if s.mark >= 0 || s.below != nil {
			p.steps = append(p.steps, s)
		}
	}
	if len(p.steps) == 0 {
		return nil
	}
	return p
}

// below returns the plan of a field's content.
func (b *builder) below(t, owner reflect.Type, name string) *Plan {
	b.way = append(b.way, place{name, owner, element(t)})
	defer func() { b.way = b.way[:len(b.way)-1] }()
	return b.plan(t, nil)
}

// element returns the struct in pointers, lists and maps.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// jsonName returns the name of a field in JSON; "" if it is not there.
func jsonName(f reflect.StructField) (name string, inline bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case f.Anonymous && name == "":
		return "", true
	case name == "-" || !f.IsExported():
		return "", false
	}
	return name, false
}

// Set returns the marks of the selected fields that are set in the value that obj points to.
func (p *Plan) Set(obj any) Mask {
	var m Mask
	p.walk(reflect.ValueOf(obj), func(mark int, _ reflect.Value) bool {
		m |= 1 << mark
		return false
	})
	return m
}

// Clear removes the selected fields whose mark is not in keep from the value that obj points to.
func (p *Plan) Clear(obj any, keep Mask) {
	p.walk(reflect.ValueOf(obj), func(mark int, field reflect.Value) bool {
		if keep&(1<<mark) != 0 {
			return false
		}
		field.SetZero()
		return true
	})
}

// Paths returns the paths of the selected fields that are set in the value that obj points to, such as
// spec.containers[0].image.
func (p *Plan) Paths(obj any) []string {
	if p.Set(obj) == 0 {
		return nil
	}
	var paths []string
	p.paths(reflect.ValueOf(obj), "", &paths)
	return paths
}

// walk calls f for each selected field that is not zero. f reports whether it has changed the field.
func (p *Plan) walk(v reflect.Value, f func(mark int, field reflect.Value) bool) (changed bool) {
	if p == nil {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && p.walk(v.Elem(), f)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			changed = p.walk(v.Index(i), f) || changed
		}
		return changed
	case reflect.Map:
		for _, key := range v.MapKeys() {
			// The values of maps cannot be changed in place.
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			if p.walk(value, f) {
				v.SetMapIndex(key, value)
				changed = true
			}
		}
		return changed
	case reflect.Struct:
	default:
		return false
	}
	for i := range p.steps {
		s := &p.steps[i]
		field := v.Field(s.index)
		switch {
		case s.mark < 0:
			changed = s.below.walk(field, f) || changed
		case !field.IsZero():
			changed = f(s.mark, field) || changed
		}
	}
	return changed
}

func (p *Plan) paths(v reflect.Value, at string, found *[]string) {
	if p == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			p.paths(v.Elem(), at, found)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.paths(v.Index(i), fmt.Sprintf("%s[%d]", at, i), found)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			p.paths(v.MapIndex(key), at+"."+key.String(), found)
		}
	case reflect.Struct:
		for i := range p.steps {
			s := &p.steps[i]
			field, name := v.Field(s.index), at
			switch {
			case s.name != "" && at != "":
				name = at + "." + s.name
			case s.name != "":
				name = s.name
			}
			switch {
			case s.mark < 0:
				s.below.paths(field, name, found)
			case !field.IsZero():
				*found = append(*found, name)
			}
		}
	default: // no other kind has fields
	}
}
