package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is the kind of value that a variable holds.
type kind int

const (
	scalar kind = iota
	indexed
	associative
)

// variable is the value and the attributes of a variable. A variable without a value is declared only.
type variable struct {
	kind  kind
	set   bool
	text  string
	elems map[int]string
	keys  map[string]string

	exported, readonly, integer, lower, upper, reference bool
	// reserved is the memory that it takes.
	reserved int64
}

// variableBytes is the memory of a variable or an element besides its text.
const variableBytes = 64

// indices returns the indices of an indexed array, in order.
func (v *variable) indices() []int { return slices.Sorted(maps.Keys(v.elems)) }

// values returns the elements in order; for a scalar its value.
func (v *variable) values() []string {
	var all []string
	switch {
	case v == nil || !v.set:
	case v.kind == indexed:
		for _, i := range v.indices() {
			all = append(all, v.elems[i])
		}
	case v.kind == associative:
		for _, key := range slices.Sorted(maps.Keys(v.keys)) {
			all = append(all, v.keys[key])
		}
	default:
		all = []string{v.text}
	}
	return all
}

// names returns the indices or keys in order.
func (v *variable) names() []string {
	var all []string
	switch {
	case v == nil || !v.set:
	case v.kind == indexed:
		for _, i := range v.indices() {
			all = append(all, strconv.Itoa(i))
		}
	case v.kind == associative:
		all = slices.Sorted(maps.Keys(v.keys))
	default:
		all = []string{"0"}
	}
	return all
}

// single returns the value of a scalar, or an array's element 0.
func (v *variable) single() (string, bool) {
	switch {
	case v == nil || !v.set:
		return "", false
	case v.kind == indexed:
		text, ok := v.elems[0]
		return text, ok
	case v.kind == associative:
		text, ok := v.keys["0"]
		return text, ok
	}
	return v.text, true
}

func (v *variable) clone() *variable {
	c := *v
	c.elems, c.keys = maps.Clone(v.elems), maps.Clone(v.keys)
	return &c
}

// convert applies the attributes of a variable to a value that is assigned to it.
func (v *variable) convert(text string) string {
	switch {
	case v.lower:
		return strings.ToLower(text)
	case v.upper:
		return strings.ToUpper(text)
	}
	return text
}

// validName reports whether a text may name a variable.
func validName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}
