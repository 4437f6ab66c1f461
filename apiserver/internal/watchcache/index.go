package watchcache

import "slices"

// index finds the watchers that a change may concern.
type index struct {
	fields  []string
	byKey   map[string][]*Watcher
	byField []map[string][]*Watcher // for each of fields: watchers by the field value that they select
	others  []*Watcher
	count   int
}

func newIndex(fields []string) *index {
	x := &index{fields: fields, byKey: map[string][]*Watcher{}, byField: make([]map[string][]*Watcher, len(fields))}
	for i := range fields {
		x.byField[i] = map[string][]*Watcher{}
	}
	return x
}

// place returns the map and the key that hold the watcher of f, or a nil map if it is
// in others.
func (x *index) place(f *filter) (map[string][]*Watcher, string) {
	if f.key != "" {
		return x.byKey, f.key
	}
	if f.field != nil {
		for i, name := range x.fields {
			if value, ok := f.field.RequiresExactMatch(name); ok {
				return x.byField[i], value
			}
		}
	}
	return nil, ""
}

func (x *index) add(w *Watcher) {
	x.count++
	if m, key := x.place(&w.filter); m != nil {
		m[key] = append(m[key], w)
		return
	}
	x.others = append(x.others, w)
}

// remove removes w and reports whether it was present.
func (x *index) remove(w *Watcher) bool {
	m, key := x.place(&w.filter)
	list := x.others
	if m != nil {
		list = m[key]
	}
	i := slices.Index(list, w)
	if i < 0 {
		return false
	}
	x.count--
	list = slices.Delete(list, i, i+1)
	switch {
	case m == nil:
		x.others = list
	case len(list) == 0:
		delete(m, key)
	default:
		m[key] = list
	}
	return true
}

// each calls do for every watcher that c may concern.
func (x *index) each(c *change, do func(*Watcher)) {
	visit := func(list []*Watcher) {
		for _, w := range list {
			do(w)
		}
	}
	visit(x.others)
	if len(x.byKey) > 0 {
		visit(x.byKey[c.key()])
	}
	for i, name := range x.fields {
		if len(x.byField[i]) == 0 {
			continue
		}
		var is, was string
		if c.entry != nil {
			is = c.entry.Fields.Get(name)
			visit(x.byField[i][is])
		}
		if c.previous != nil {
			if was = c.previous.Fields.Get(name); c.entry == nil || was != is {
				visit(x.byField[i][was])
			}
		}
	}
}

// all calls do for every watcher.
func (x *index) all(do func(*Watcher)) {
	lists := [][]*Watcher{x.others}
	for _, m := range append([]map[string][]*Watcher{x.byKey}, x.byField...) {
		for _, list := range m {
			lists = append(lists, list)
		}
	}
	for _, list := range lists {
		for _, w := range list {
			do(w)
		}
	}
}
