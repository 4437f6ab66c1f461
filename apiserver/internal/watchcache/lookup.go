package watchcache

import (
	"cmp"
	"slices"
)

const (
	// maxLookups caps the lookups of a cache.
	maxLookups = 4
	// minLookup is the number of entries from which a lookup is worthwhile.
	minLookup = 256
	// lookupAfter is a multiple of the number of entries: an attribute gets a lookup after its
	// selectors have read that many entries that did not match, and loses it after that many
	// entries have been written without a use of the lookup.
	lookupAfter = 4
	// maxWanted caps the attributes whose selectors are counted.
	maxWanted = 64
)

// valued is an entry under the value of its attribute.
type valued struct {
	value string
	key   string
	entry *Entry
}

func compareValued(a, b valued) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.key, b.key))
}

// lookup finds the entries by the value of an attribute, in the order of their keys. It is made
// when lists show that it pays, and it changes with the snapshot.
type lookup struct {
	attribute attribute
	tree      tree[valued]
	shared    tree[valued] // as in snapshot
	distinct  int          // values when it was made
	unused    int          // changes since the last use
}

// newLookup makes the lookup of the entries of a view.
func newLookup(a attribute, v view) *lookup {
	all := make([]valued, 0, v.tree.Len())
	v.tree.Ascend(func(e *Entry) bool {
		if value, ok := a.of(e); ok {
			all = append(all, valued{value, e.Key, e})
		}
		return true
	})
	slices.SortFunc(all, compareValued)
	l := &lookup{attribute: a, tree: newTree(func(a, b valued) bool { return compareValued(a, b) < 0 })}
	for i := range all {
		if i == 0 || all[i].value != all[i-1].value {
			l.distinct++
		}
		l.tree.ReplaceOrInsert(all[i])
	}
	return l
}

// change replaces an entry; either may be nil.
func (l *lookup) change(old, new *Entry) {
	l.unused++
	l.shared = nil
	if old != nil {
		if value, ok := l.attribute.of(old); ok {
			l.tree.Delete(valued{value: value, key: old.Key})
		}
	}
	if new != nil {
		if value, ok := l.attribute.of(new); ok {
			l.tree.ReplaceOrInsert(valued{value, new.Key, new})
		}
	}
}

// share returns an immutable copy, in constant time.
func (l *lookup) share() tree[valued] {
	l.unused = 0
	if l.shared == nil {
		l.shared = l.tree.clone()
	}
	return l.shared
}

// lookups holds the lookups of a snapshot.
type lookups struct {
	all []*lookup
	// wanted counts, by attribute, the entries that lists have read and that did not match.
	wanted map[attribute]int
}

func (x *lookups) change(old, new *Entry, entries int) {
	for _, l := range x.all {
		l.change(old, new)
	}
	x.all = slices.DeleteFunc(x.all, func(l *lookup) bool { return l.unused > lookupAfter*max(entries, minLookup) })
}

// best returns the lookup with the most values for one of the attributes, or nil.
func (x *lookups) best(all []required) (best *lookup, value string) {
	for _, r := range all {
		for _, l := range x.all {
			if l.attribute == r.attribute && (best == nil || l.distinct > best.distinct) {
				best, value = l, r.value
			}
		}
	}
	return best, value
}

// want counts entries that a list has read and that did not match, and returns an attribute that
// should have a lookup.
func (x *lookups) want(all []required, inVain, entries int) (a attribute, ok bool) {
	if entries < minLookup {
		return a, false
	}
	if x.wanted == nil || len(x.wanted) > maxWanted {
		x.wanted = map[attribute]int{}
	}
	for _, r := range all {
		if slices.ContainsFunc(x.all, func(l *lookup) bool { return l.attribute == r.attribute }) {
			continue
		}
		if x.wanted[r.attribute] += inVain; x.wanted[r.attribute] > lookupAfter*entries {
			delete(x.wanted, r.attribute)
			return r.attribute, true
		}
	}
	return a, false
}

// add adds a lookup. If there are too many, it replaces the least recently used one.
func (x *lookups) add(l *lookup) {
	if slices.ContainsFunc(x.all, func(other *lookup) bool { return other.attribute == l.attribute }) {
		return // another list has made it
	}
	if len(x.all) == maxLookups {
		longest := slices.MaxFunc(x.all, func(a, b *lookup) int { return a.unused - b.unused })
		x.all = slices.DeleteFunc(x.all, func(other *lookup) bool { return other == longest })
	}
	x.all = append(x.all, l)
}
