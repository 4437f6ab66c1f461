package watchcache

import (
	"strings"

	"github.com/google/btree"
)

// degree is the B-tree's degree: its nodes hold about a memory page of pointers.
const degree = 32

// snapshot holds the entries in the order of their keys.
type snapshot struct {
	tree *btree.BTreeG[*Entry]
	// shared is an immutable copy of tree for readers; nil if tree has changed since.
	shared *btree.BTreeG[*Entry]
	bytes  int64 // of the stored values
}

func newSnapshot() *snapshot {
	return &snapshot{tree: btree.NewG(degree, func(a, b *Entry) bool { return a.Key < b.Key })}
}

func (s *snapshot) get(key string) *Entry {
	entry, _ := s.tree.Get(&Entry{Key: key})
	return entry
}

func (s *snapshot) put(e *Entry) {
	s.shared = nil
	s.bytes += int64(e.size)
	if old, ok := s.tree.ReplaceOrInsert(e); ok {
		s.bytes -= int64(old.size)
	}
}

func (s *snapshot) remove(key string) {
	s.shared = nil
	if old, ok := s.tree.Delete(&Entry{Key: key}); ok {
		s.bytes -= int64(old.size)
	}
}

// share returns an immutable view, in constant time.
func (s *snapshot) share() view {
	if s.shared == nil {
		s.shared = s.tree.Clone()
	}
	return view{s.shared}
}

// view is a snapshot at one revision. It may be read without a lock.
type view struct{ tree *btree.BTreeG[*Entry] }

// each calls do for the entries in the scope of f, from the key from on, until do
// returns false. It does not evaluate the selectors of f.
func (v view) each(f *filter, from string, do func(*Entry) bool) {
	if f.key != "" {
		if entry, ok := v.tree.Get(&Entry{Key: f.key}); ok {
			do(entry)
		}
		return
	}
	v.tree.AscendGreaterOrEqual(&Entry{Key: max(f.prefix, from)}, func(e *Entry) bool {
		return strings.HasPrefix(e.Key, f.prefix) && do(e)
	})
}
