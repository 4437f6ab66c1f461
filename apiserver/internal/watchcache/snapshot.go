package watchcache

import (
	"strings"
	"sync"
)

// degree is the B-tree's degree: its nodes hold about a memory page of pointers.
const degree = 32

// snapshot holds the entries in the order of their keys.
type snapshot struct {
	tree tree[*Entry]
	// shared is an immutable copy of tree for readers; nil if tree has changed since.
	shared tree[*Entry]
	bytes  int64 // of the stored values

	lookups lookups
}

func newSnapshot() *snapshot {
	return &snapshot{tree: newTree(func(a, b *Entry) bool { return a.Key < b.Key })}
}

// probes are entries with which trees are searched: they have a key alone.
var probes = sync.Pool{New: func() any { return &Entry{} }}

// search returns the entry of a key, or nil.
func search(tree tree[*Entry], key string) *Entry {
	probe := probes.Get().(*Entry)
	probe.Key = key
	entry, _ := tree.Get(probe)
	probe.Key = ""
	probes.Put(probe)
	return entry
}

func (s *snapshot) get(key string) *Entry { return search(s.tree, key) }

func (s *snapshot) put(e *Entry) {
	s.shared = nil
	s.bytes += int64(e.size)
	old, ok := s.tree.ReplaceOrInsert(e)
	if ok {
		s.bytes -= int64(old.size)
	}
	s.lookups.change(old, e, s.tree.Len())
}

func (s *snapshot) remove(key string) {
	s.shared = nil
	if old, ok := s.tree.Delete(&Entry{Key: key}); ok {
		s.bytes -= int64(old.size)
		s.lookups.change(old, nil, s.tree.Len())
	}
}

// share returns an immutable view, in constant time.
func (s *snapshot) share() view {
	if s.shared == nil {
		s.shared = s.tree.clone()
	}
	return view{tree: s.shared}
}

// shareFor is share for a reader of the entries that have one of the required attributes.
func (s *snapshot) shareFor(all []required) view {
	v := s.share()
	if l, value := s.lookups.best(all); l != nil {
		v.byValue, v.value = l.share(), value
	}
	return v
}

// view is a snapshot at one revision. It may be read without a lock.
type view struct {
	tree tree[*Entry]
	// byValue, if not nil, has the entries that the view is for, under value.
	byValue tree[valued]
	value   string
	// undone are the changes to undo before the view is read.
	undone []*change
}

// each calls do for the entries in the scope of f, from the key from on, until do
// returns false. It does not evaluate the selectors of f, but may omit entries that they do
// not match if the view was shared for them.
func (v view) each(f *filter, from string, do func(*Entry) bool) {
	if f.key != "" {
		if entry := search(v.tree, f.key); entry != nil {
			do(entry)
		}
		return
	}
	start := max(f.prefix, from)
	if v.byValue != nil {
		v.byValue.AscendGreaterOrEqual(valued{value: v.value, key: start}, func(at valued) bool {
			return at.value == v.value && strings.HasPrefix(at.key, f.prefix) && do(at.entry)
		})
		return
	}
	v.tree.AscendGreaterOrEqual(&Entry{Key: start}, func(e *Entry) bool {
		return strings.HasPrefix(e.Key, f.prefix) && do(e)
	})
}

// hasMore reports whether there are entries in the scope of f, from the key from on.
func (v view) hasMore(f *filter, from string) (more bool) {
	view{tree: v.tree}.each(f, from, func(*Entry) bool { more = true; return false })
	return more
}
