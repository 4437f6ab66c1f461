package watchcache

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// RevisionMatch says which state a list reads (Kubernetes documentation, "API Concepts:
// Semantics for get and list").
type RevisionMatch int

// The values of RevisionMatch.
const (
	// Any is the cache's current state.
	Any RevisionMatch = iota
	// NotOlderThan is a state at or after ListOptions.Revision.
	NotOlderThan
	// Exact is the state at ListOptions.Revision.
	Exact
	// Consistent is a state not older than the store's at the time of the call.
	Consistent
)

// ListOptions narrow a List.
type ListOptions struct {
	Prefix   string
	Revision int64
	Match    RevisionMatch
	// Label and Field are selectors; nil selects everything.
	Label labels.Selector
	Field fields.Selector
	// Limit caps the number of entries returned; 0 is no limit.
	Limit int64
	// From is the first key to return; empty starts at the prefix.
	From string
}

// List is a page of entries in the order of their keys.
type List struct {
	Entries []*Entry
	// Revision is the revision of the state, Past says that it is not the current state.
	Revision int64
	Past     bool
	// More reports that the limit was reached and that keys remain from NextKey on.
	// Remaining is their number; with selectors it is not exact, because the rest is not
	// evaluated.
	More      bool
	NextKey   string
	Remaining int64
}

// Get returns the entry of a key, or nil if it does not exist, and the revision of the
// state read, which is at least minRev. It returns a Timeout error with the cause
// ResourceVersionTooLarge if the store has not reached minRev.
func (c *Cache) Get(ctx context.Context, key string, minRev int64) (*Entry, int64, error) {
	c.mu.RLock()
	if c.gate != nil && !c.closed && c.gate.isOpen() && c.gate.err == nil && c.rev >= minRev {
		defer c.mu.RUnlock()
		return c.snapshot.get(key), c.rev, nil
	}
	c.mu.RUnlock()
	if minRev > 0 {
		if err := c.exists(ctx, minRev); err != nil {
			return nil, 0, err
		}
	}
	if err := c.lockAt(ctx, minRev, 0); err != nil {
		return nil, 0, err
	}
	defer c.mu.Unlock()
	return c.snapshot.get(key), c.rev, nil
}

// Empty reports whether the cache has no entries, at a revision of at least minRev.
func (c *Cache) Empty(ctx context.Context, minRev int64) (bool, error) {
	c.mu.RLock()
	if c.gate != nil && !c.closed && c.gate.isOpen() && c.gate.err == nil && c.rev >= minRev {
		defer c.mu.RUnlock()
		return c.snapshot.tree.Len() == 0, nil
	}
	c.mu.RUnlock()
	if err := c.lockAt(ctx, minRev, 0); err != nil {
		return false, err
	}
	defer c.mu.Unlock()
	return c.snapshot.tree.Len() == 0, nil
}

// Peek returns the entries below a prefix, in the order of their keys, at the cache's
// current revision. It never waits: ok is false before the first read or watch has started
// the cache, and while the cache lists the store again.
func (c *Cache) Peek(prefix string) (entries []*Entry, ok bool) {
	c.mu.Lock()
	ok = c.gate != nil && !c.closed && c.gate.isOpen() && c.gate.err == nil
	if !ok {
		c.mu.Unlock()
		return nil, false
	}
	v := c.snapshot.share()
	c.mu.Unlock()
	f := newFilter(prefix, "", nil, nil)
	v.each(&f, "", func(e *Entry) bool {
		entries = append(entries, e)
		return true
	})
	return entries, true
}

// List returns the entries that opts select. It returns ErrNotCached for an exact revision
// if the changes since then are not kept, or too many, and a Timeout error with the cause
// ResourceVersionTooLarge for a revision that the store has not reached.
func (c *Cache) List(ctx context.Context, opts ListOptions) (*List, error) {
	f := newFilter(opts.Prefix, "", opts.Label, opts.Field)
	all := f.requires()
	s, err := c.stateFor(ctx, opts, all)
	if err != nil {
		return nil, err
	}
	s.view.undo()
	list, inVain := s.view.list(&f, &opts)
	list.Revision, list.Past = s.revision, s.snapshot == nil
	if len(all) > 0 && inVain > 0 && s.snapshot != nil {
		c.read(s, all, inVain)
	}
	return list, nil
}

// list returns the page of f and opts, and the number of entries that it read besides.
func (v view) list(f *filter, opts *ListOptions) (list *List, inVain int) {
	list = &List{}
	v.each(f, opts.From, func(e *Entry) bool {
		if list.More {
			list.Remaining++
			return f.isAll()
		}
		if opts.Limit > 0 && int64(len(list.Entries)) == opts.Limit {
			list.more()
			return f.isAll()
		}
		if f.matches(e) {
			list.Entries = append(list.Entries, e)
		} else {
			inVain++
		}
		return true
	})
	if n := len(list.Entries); !list.More && v.byValue != nil && opts.Limit == int64(n) && n > 0 && v.hasMore(f, list.Entries[n-1].Key+"\x00") {
		list.more() // of entries without the value
	}
	return list, inVain
}

// more records that there are entries after the last of the page.
func (l *List) more() {
	l.More, l.Remaining = true, 1
	l.NextKey = l.Entries[len(l.Entries)-1].Key + "\x00"
}

// state is the state that a list reads.
type state struct {
	view     view
	revision int64 // that the list is of
	// snapshot was at revision at when it was shared; it is nil for a past state.
	snapshot *snapshot
	at       int64
}

func (c *Cache) stateFor(ctx context.Context, opts ListOptions, all []required) (state, error) {
	atLeast, err := c.atLeast(ctx, opts.Match, opts.Revision)
	if err != nil {
		return state{}, err
	}
	if err := c.lockAt(ctx, atLeast, 0); err != nil {
		return state{}, err
	}
	defer c.mu.Unlock()
	if opts.Match == Exact && opts.Revision < c.lastChange {
		past, err := c.past(opts.Revision)
		return state{view: past, revision: opts.Revision}, err
	}
	revision := c.rev
	if opts.Match == Exact { // every revision since lastChange has the current state
		revision = opts.Revision
	}
	return state{view: c.snapshot.shareFor(all), revision: revision, snapshot: c.snapshot, at: c.rev}, nil
}

// read records that a list has read entries that did not match, and adds a lookup if they have
// become too many. The lookup is made without the lock, and then gets the changes that were made meanwhile.
func (c *Cache) read(s state, all []required, inVain int) {
	c.mu.Lock()
	a, wanted := c.snapshot.lookups.want(all, inVain, c.snapshot.tree.Len())
	c.mu.Unlock()
	if !wanted {
		return
	}
	l := newLookup(a, s.view)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot != s.snapshot || s.at < c.ring.floor {
		return // the changes are not known any more
	}
	for _, ch := range c.ring.after(s.at) {
		l.change(ch.previous, ch.entry)
	}
	c.snapshot.lookups.add(l)
}

// atLeast returns the revision that a reader has to wait for.
func (c *Cache) atLeast(ctx context.Context, match RevisionMatch, revision int64) (int64, error) {
	switch match {
	case NotOlderThan, Exact:
		return revision, c.exists(ctx, revision)
	case Consistent:
		return c.newest(ctx)
	}
	return 0, nil
}
