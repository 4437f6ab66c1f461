package memfs

// account counts the bytes of content that have been written into a tree through views: the data
// that a container adds to its image, or to a volume. As with the layers of a real image, a file of
// Put counts as a whole once it is changed.
type account struct {
	written int64
	// limit bounds written; 0: nothing does.
	limit int64
	// changed is called when written has changed for the first time since the last call of Written;
	// unseen means that this call is still to come.
	changed func()
	unseen  bool
}

// holds reports whether the account has room for more bytes.
func (a *account) holds(more int64) bool {
	return a == nil || a.limit == 0 || more <= 0 || a.written+more <= a.limit
}

// add adds bytes, which may be negative.
func (a *account) add(bytes int64) {
	if a == nil || bytes == 0 {
		return
	}
	a.written += bytes
	if a.changed != nil && !a.unseen {
		a.unseen = true
		a.changed()
	}
}

// count counts the content of a file that a view has changed.
func (n *node) count() {
	size := int64(len(n.data))
	n.of.add(size - n.written)
	n.written = size
}

// forget ends the counting of the node and all beneath it, which are removed.
func (n *node) forget() { n.moveTo(nil) }

// moveTo makes another account count the node and all beneath it.
func (n *node) moveTo(to *account) {
	n.of.add(-n.written)
	to.add(n.written)
	n.of = to
	for _, child := range n.children {
		child.moveTo(to)
	}
}

// Written returns how many bytes have been written into the tree through views, and are still
// there.
func (t *Tree) Written() int64 {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	t.unseen = false
	return t.written
}

// Watch calls changed when Written has changed for the first time, and for the first time after
// each call of Written. changed must not block or use the space.
func (t *Tree) Watch(changed func()) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	t.changed, t.unseen = changed, false
	if t.written != 0 {
		t.unseen = true
		changed()
	}
}

// Limit makes writes through views fail with ENOSPC that would make Written more than limit bytes.
func (t *Tree) Limit(limit int64) {
	t.space.mu.Lock()
	defer t.space.mu.Unlock()
	t.limit = limit
}
