package ownership

import (
	"errors"
	"reflect"
	"slices"
	"strings"
)

// errUnplanned is returned for a value that the plan does not cover.
var errUnplanned = errors.New("no plan for a part of the object")

// operand is one side of a comparison at one path: absent, null, or v.
type operand struct {
	v       reflect.Value
	present bool
	null    bool
}

func (o operand) has() bool { return o.present && !o.null }

// of returns the operand for a value that is present.
func (n *node) of(v reflect.Value) operand {
	o := operand{v: v, present: true}
	if n.pointer {
		if v.IsNil() {
			o.null = true
			return o
		}
		o.v = v.Elem()
	}
	switch n.sort {
	case list, mapping:
		o.null = o.v.IsNil()
	case moment:
		o.null = momentOf(o.v).IsZero()
	case opaque:
		o.null = o.v.Kind() == reflect.Slice && o.v.IsNil()
	}
	return o
}

// in returns the operand for a field of a structure.
func (f *field) in(o operand) operand {
	if !o.has() {
		return operand{}
	}
	v := o.v
	for _, i := range f.index {
		v = v.Field(i)
	}
	if f.omitEmpty && isEmpty(v) {
		return operand{}
	}
	if f.omitZero && f.node.isZero(v) {
		return operand{}
	}
	return f.node.of(v)
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (n *node) isZero(v reflect.Value) bool {
	if n.sort == moment && !n.pointer {
		return momentOf(v).IsZero()
	}
	return v.IsZero()
}

// difference is the result of a comparison at and beneath one path: fields that are new
// or changed, and fields that were removed.
type difference struct {
	taken, removed entry
}

// leaf compares values that have one owner as a whole.
func (n *node) leaf(l, r operand) (d difference, err error) {
	switch {
	case !l.present:
		d.taken.in = true
	case !r.present:
		d.removed.in = true
	default:
		same, err := n.same(l, r)
		if err != nil {
			return d, err
		}
		d.taken.in = !same
	}
	return d, nil
}

// compare returns the differences of r from l, at least one of which is present. It
// follows structured-merge-diff's Compare.
func (n *node) compare(c *comparison, l, r operand) (d difference, err error) {
	switch n.sort {
	case unknown:
		return d, errUnplanned
	case structure:
		if n.atomic || n.hasNothing(l) && n.hasNothing(r) {
			return n.leaf(l, r)
		}
		err = n.compareFields(c, l, r, &d)
	case mapping:
		if n.atomic || length(l) == 0 && length(r) == 0 {
			return n.leaf(l, r)
		}
		err = n.compareKeys(c, l, r, &d)
	case list:
		if n.atomic || length(l) == 0 && length(r) == 0 {
			return n.leaf(l, r)
		}
		err = n.compareItems(c, l, r, &d)
	default:
		return n.leaf(l, r)
	}
	d.taken.in, d.removed.in = !l.present, l.present && !r.present
	return d, err
}

// hasNothing reports whether a structure has no fields.
func (n *node) hasNothing(o operand) bool {
	if !o.has() {
		return true
	}
	for i := range n.fields {
		if n.fields[i].in(o).present {
			return false
		}
	}
	return true
}

func length(o operand) int {
	if !o.has() {
		return 0
	}
	return o.v.Len()
}

func (n *node) compareFields(c *comparison, l, r operand, d *difference) error {
	begin := c.begin()
	for i := range n.fields {
		f := &n.fields[i]
		fl, fr := f.in(l), f.in(r)
		if !fl.present && !fr.present {
			continue
		}
		found, err := f.node.compare(c, fl, fr)
		if err != nil {
			return err
		}
		c.add(f.entry, found)
	}
	c.end(begin, d)
	return nil
}

func (n *node) compareKeys(c *comparison, l, r operand, d *difference) error {
	var keys []string
	for _, o := range []operand{l, r} {
		if o.has() {
			for _, key := range o.v.MapKeys() {
				keys = append(keys, key.String())
			}
		}
	}
	slices.Sort(keys)
	begin := c.begin()
	for _, key := range slices.Compact(keys) {
		found, err := n.elem.compare(c, n.at(l, key), n.at(r, key))
		if err != nil {
			return err
		}
		c.add("f:"+key, found)
	}
	c.end(begin, d)
	return nil
}

func (n *node) at(o operand, key string) operand {
	if !o.has() {
		return operand{}
	}
	k := reflect.ValueOf(key)
	if t := o.v.Type().Key(); t != k.Type() {
		k = k.Convert(t)
	}
	v := o.v.MapIndex(k)
	if !v.IsValid() {
		return operand{}
	}
	return n.elem.of(v)
}

// item is a list element, identified by name.
type item struct {
	name string
	l, r operand
}

func (n *node) compareItems(c *comparison, l, r operand, d *difference) error {
	items, err := n.items(nil, l, false)
	if err != nil {
		return err
	}
	if items, err = n.items(items, r, true); err != nil {
		return err
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	begin := c.begin()
	for i := range items {
		found, err := n.elem.compare(c, items[i].l, items[i].r)
		if err != nil {
			return err
		}
		c.add(items[i].name, found)
	}
	c.end(begin, d)
	return nil
}

// items adds the elements of one side. It returns an error for lists with duplicate
// elements, which the library must handle.
func (n *node) items(items []item, o operand, isRight bool) ([]item, error) {
	known := len(items)
	for i := range length(o) {
		element := n.elem.of(o.v.Index(i))
		name, err := n.nameOf(element)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(items, func(other item) bool { return other.name == name })
		switch {
		case at >= known, at >= 0 && (!isRight || items[at].r.present):
			return nil, errUnplanned
		case at >= 0:
			items[at].r = element
		case isRight:
			items = append(items, item{name: name, r: element})
		default:
			items = append(items, item{name: name, l: element})
		}
	}
	return items, nil
}
