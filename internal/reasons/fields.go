package reasons

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// fields reads an object's fields without errors: a field that is missing or has another
// type is zero.
type fields map[string]any

func fieldsOf(o *unstructured.Unstructured) fields { return o.Object }

func (f fields) at(path ...string) any {
	var value any = map[string]any(f)
	for _, name := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[name]
	}
	return value
}

func (f fields) within(path ...string) fields {
	m, _ := f.at(path...).(map[string]any)
	return m
}

func (f fields) text(path ...string) string {
	text, _ := f.at(path...).(string)
	return text
}

func (f fields) isTrue(path ...string) bool {
	value, _ := f.at(path...).(bool)
	return value
}

func (f fields) has(path ...string) bool { return f.at(path...) != nil }

func (f fields) number(path ...string) int64 {
	switch n := f.at(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// numberOr returns the number, or other if it is not set.
func (f fields) numberOr(other int64, path ...string) int64 {
	if !f.has(path...) {
		return other
	}
	return f.number(path...)
}

// list returns the items of a list that are objects.
func (f fields) list(path ...string) []fields {
	items, _ := f.at(path...).([]any)
	var out []fields
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
