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
	// Revision is the revision of the state.
	Revision int64
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
// whose state the cache does not have, and a Timeout error with the cause
// ResourceVersionTooLarge for a revision that the store has not reached.
func (c *Cache) List(ctx context.Context, opts ListOptions) (*List, error) {
	v, revision, err := c.viewFor(ctx, opts)
	if err != nil {
		return nil, err
	}
	f := newFilter(opts.Prefix, "", opts.Label, opts.Field)
	list := &List{Revision: revision}
	v.each(&f, opts.From, func(e *Entry) bool {
		if list.More {
			list.Remaining++
			return f.isAll()
		}
		if opts.Limit > 0 && int64(len(list.Entries)) == opts.Limit {
			list.More, list.Remaining = true, 1
			list.NextKey = list.Entries[opts.Limit-1].Key + "\x00"
			return f.isAll()
		}
		if f.matches(e) {
			list.Entries = append(list.Entries, e)
		}
		return true
	})
	return list, nil
}

func (c *Cache) viewFor(ctx context.Context, opts ListOptions) (view, int64, error) {
	atLeast, err := c.atLeast(ctx, opts.Match, opts.Revision)
	if err != nil {
		return view{}, 0, err
	}
	if err := c.lockAt(ctx, atLeast, 0); err != nil {
		return view{}, 0, err
	}
	defer c.mu.Unlock()
	revision := c.rev
	if opts.Match == Exact {
		// The state at every revision since lastChange is the current one.
		if revision = opts.Revision; revision < c.lastChange || revision > c.rev {
			return view{}, 0, ErrNotCached
		}
	}
	return c.snapshot.share(), revision, nil
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
