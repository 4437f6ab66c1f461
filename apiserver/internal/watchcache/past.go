package watchcache

// maxUndone caps the changes that are undone for a list: beyond it, the store is faster.
const maxUndone = 4096

// past returns the state at a revision before the newest change: the current one and the changes
// to undo. Both keep nothing in memory that the ring does not. The caller holds mu.
func (c *Cache) past(revision int64) (view, error) {
	if revision < c.ring.floor {
		return view{}, ErrNotCached
	}
	changes := c.ring.after(revision)
	if len(changes) > maxUndone {
		return view{}, ErrNotCached
	}
	return view{tree: c.snapshot.tree.clone(), undone: changes}, nil
}

// undo undoes the changes, on the view's own copy of the nodes that they are in.
func (v *view) undo() {
	for i := len(v.undone) - 1; i >= 0; i-- {
		if ch := v.undone[i]; ch.previous != nil {
			v.tree.ReplaceOrInsert(ch.previous)
		} else {
			v.tree.Delete(ch.entry)
		}
	}
	v.undone = nil
}
