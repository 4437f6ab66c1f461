package ownership

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// same reports whether both sides, which must be present, have the same JSON.
func (n *node) same(l, r operand) (bool, error) {
	if !l.present || !r.present || l.null || r.null {
		return l.present == r.present && l.null == r.null, nil
	}
	switch n.sort {
	case scalar:
		return l.v.Equal(r.v), nil
	case moment:
		return sameMoment(l.v, r.v), nil
	case quantity:
		a, b := l.v.Interface().(resource.Quantity), r.v.Interface().(resource.Quantity)
		return a.String() == b.String(), nil
	case opaque:
		return reflect.DeepEqual(l.v.Interface(), r.v.Interface()), nil
	case structure:
		return n.sameFields(l, r)
	case mapping:
		return n.sameKeys(l, r)
	case list:
		return n.sameItems(l, r)
	}
	return false, errUnplanned
}

func (n *node) sameFields(l, r operand) (bool, error) {
	for i := range n.fields {
		f := &n.fields[i]
		if same, err := f.node.same(f.in(l), f.in(r)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (n *node) sameKeys(l, r operand) (bool, error) {
	if l.v.Len() != r.v.Len() {
		return false, nil
	}
	for entries := l.v.MapRange(); entries.Next(); {
		other := r.v.MapIndex(entries.Key())
		if !other.IsValid() {
			return false, nil
		}
		if same, err := n.elem.same(n.elem.of(entries.Value()), n.elem.of(other)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (n *node) sameItems(l, r operand) (bool, error) {
	if l.v.Len() != r.v.Len() {
		return false, nil
	}
	for i := range l.v.Len() {
		if same, err := n.elem.same(n.elem.of(l.v.Index(i)), n.elem.of(r.v.Index(i))); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// momentOf returns the time in a Time or MicroTime.
func momentOf(v reflect.Value) time.Time {
	if !v.CanAddr() { // in a map
		addressable := reflect.New(v.Type()).Elem()
		addressable.Set(v)
		v = addressable
	}
	switch t := v.Addr().Interface().(type) {
	case *metav1.Time:
		return t.Time
	case *metav1.MicroTime:
		return t.Time
	}
	return time.Time{}
}

func sameMoment(l, r reflect.Value) bool {
	a, b := momentOf(l), momentOf(r)
	if l.Type() == reflect.TypeFor[metav1.Time]() {
		return a.Unix() == b.Unix() // JSON has no fractions
	}
	return a.UnixMicro() == b.UnixMicro()
}

// nameOf returns the name of a list element in FieldsV1.
func (n *node) nameOf(o operand) (string, error) {
	if !o.has() {
		return "", errUnplanned
	}
	if n.set {
		text, ok := plain(o.v)
		if !ok {
			return serialized(fieldpath.PathElement{Value: valueOf(o.v)})
		}
		return "v:" + text, nil
	}
	keys := value.FieldList{}
	name := []byte("k:{")
	isPlain := true
	for _, at := range n.keys {
		f := &n.elem.fields[at]
		key := f.in(o)
		if !key.has() || f.node.sort != scalar {
			return "", errUnplanned // it may have a default
		}
		text, ok := plain(key.v)
		isPlain = isPlain && ok
		if len(keys) > 0 {
			name = append(name, ',')
		}
		name = append(append(append(append(name, '"'), f.name...), `":`...), text...)
		keys = append(keys, value.Field{Name: f.name, Value: *valueOf(key.v)})
	}
	if !isPlain {
		return serialized(fieldpath.PathElement{Key: &keys})
	}
	return string(append(name, '}')), nil
}

func serialized(element fieldpath.PathElement) (string, error) {
	name, err := fieldpath.SerializePathElement(element)
	if err != nil {
		return "", fmt.Errorf("naming an element of a list: %w", err)
	}
	return name, nil
}

func valueOf(v reflect.Value) *value.Value {
	var out value.Value
	switch v.Kind() {
	case reflect.String:
		out = value.NewValueInterface(v.String())
	case reflect.Bool:
		out = value.NewValueInterface(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out = value.NewValueInterface(v.Int())
	default:
		out = value.NewValueInterface(v.Interface())
	}
	return &out
}

// plain returns a value as JSON if that needs no escaping.
func plain(v reflect.Value) (string, bool) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		for i := range len(s) {
			if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
				return "", false
			}
		}
		return `"` + s + `"`, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	}
	return "", false
}
