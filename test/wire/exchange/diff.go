package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a field in which two answers differ.
type Difference struct {
	// Field is "status", "header NAME", or the path in the body, such as .metadata.labels.
	Field string
	// Upstream and Minikcm are the values that each server sent; absent if it sent none.
	Upstream, Minikcm string
}

// absent stands for a value that an answer does not have.
const absent = "(absent)"

// maxDifferences caps the differences that are collected of one answer.
const maxDifferences = 200

// diff appends the differences of two trees, in the order of their keys.
func diff(path string, upstream, minikcm any, found []Difference) []Difference {
	if len(found) >= maxDifferences {
		return found
	}
	switch u := upstream.(type) {
	case map[string]any:
		if m, ok := minikcm.(map[string]any); ok {
			return diffObjects(path, u, m, found)
		}
	case []any:
		if m, ok := minikcm.([]any); ok {
			for i := range max(len(u), len(m)) {
				at := fmt.Sprintf("%s[%d]", path, i)
				switch {
				case i >= len(u):
					found = append(found, Difference{at, absent, show(m[i])})
				case i >= len(m):
					found = append(found, Difference{at, show(u[i]), absent})
				default:
					found = diff(at, u[i], m[i], found)
				}
			}
			return found
		}
	}
	if a, b := show(upstream), show(minikcm); a != b {
		found = append(found, Difference{path, a, b})
	}
	return found
}

func diffObjects(path string, u, m map[string]any, found []Difference) []Difference {
	keys := slices.Collect(maps.Keys(u))
	for key := range m {
		if _, ok := u[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		of, inU := u[key]
		to, inM := m[key]
		at := path + "." + strings.ReplaceAll(key, ".", "·")
		switch {
		case !inM:
			found = append(found, Difference{at, show(of), absent})
		case !inU:
			found = append(found, Difference{at, absent, show(to)})
		default:
			found = diff(at, of, to, found)
		}
	}
	return found
}

// show prints a value on one line.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", value)
	default:
		return encode(value)
	}
}

// Compare compares two documents that were read otherwise. A document that one server does not
// have is nil.
func Compare(area, name string, upstream, minikcm any) Result {
	r := Result{Area: area, Name: area + "/" + name}
	switch {
	case upstream == nil && minikcm == nil:
	case upstream == nil:
		r.Differences = []Difference{{"", absent, show(minikcm)}}
	case minikcm == nil:
		r.Differences = []Difference{{"", show(upstream), absent}}
	default:
		r.Differences = diff("", upstream, minikcm, nil)
	}
	return r
}
