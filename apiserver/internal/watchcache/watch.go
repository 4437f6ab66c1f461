package watchcache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/internal/inflight"
)

// WatchOptions configure a Watch (Kubernetes documentation, "API Concepts: Semantics
// for watch", and KEP-3157).
type WatchOptions struct {
	Prefix string
	// Key restricts the watch to one key, unless it is empty.
	Key string
	// Label and Field are selectors; nil selects everything.
	Label labels.Selector
	Field fields.Selector
	// Revision is the revision after which events are delivered; it may be in the
	// future. 0 means the store's newest revision or, with Any, the cache's current
	// one.
	Revision int64
	Any      bool
	// SendInitialEvents selects whether the stream starts with the state as ADDED
	// events. Nil: only if Revision is 0. With true the state is not older than
	// Revision, and with Bookmarks a bookmark marks its end.
	SendInitialEvents *bool
	// Bookmarks requests BOOKMARK events: periodic ones, and the one after initial events. With
	// Steadfast, there is only the latter: an informer in this process does not need a recent
	// revision to resume from, because the cache keeps the history of what it sends.
	Bookmarks, Steadfast bool
}

// Event is one event of a watch. The Entry of a bookmark has a Revision only. The Entry
// of a DELETED event is the last state that the watcher could see, with the revision at
// which the object was deleted or stopped matching.
type Event struct {
	Type  watch.EventType
	Entry *Entry
	// Initial marks an event of the state that the watch starts with, InitialEventsEnd
	// the bookmark after them.
	Initial, InitialEventsEnd bool
}

// Watch starts a watch. It returns an Expired error for a revision whose events are no
// longer kept and, with SendInitialEvents, a Timeout error with the cause
// ResourceVersionTooLarge for a revision that the store has not reached. The caller
// must call Stop on the watcher.
func (c *Cache) Watch(ctx context.Context, opts WatchOptions) (*Watcher, error) {
	sendInitial := opts.Revision == 0
	if opts.SendInitialEvents != nil {
		sendInitial = *opts.SendInitialEvents
	}
	match, from := Any, opts.Revision
	switch {
	case opts.Revision == 0 && !opts.Any:
		match = Consistent
	case sendInitial:
		match, from = NotOlderThan, 0
	}
	atLeast, err := c.atLeast(ctx, match, opts.Revision)
	if err != nil {
		return nil, err
	}
	if forgotten := c.forgotten.Load(); !sendInitial && opts.Revision > 0 && opts.Revision < forgotten {
		// Which of the forgotten changes concern the cache is known only when it has them.
		atLeast = max(atLeast, forgotten)
	}
	if err := c.lockAt(ctx, atLeast, from); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if c.unwatched {
		return nil, fmt.Errorf("watching %s: %w", c.cfg.Prefix, ErrClosed)
	}
	w := &Watcher{
		cache:     c,
		filter:    newFilter(opts.Prefix, opts.Key, opts.Label, opts.Field),
		bookmarks: opts.Bookmarks && !opts.Steadfast,
		counted:   inflight.NewTally(c.cfg.Ledger, inflight.Event),
		sent:      c.rev,
		wake:      make(chan struct{}, 1),
	}
	switch {
	case sendInitial:
		w.backlog = &backlog{state: c.snapshot.share(), isState: true, revision: c.rev}
		w.backlog.marked = opts.SendInitialEvents != nil && opts.Bookmarks
	case opts.Revision == 0:
	case opts.Revision < c.ring.floor:
		return nil, tooOld(opts.Revision, c.ring.floor)
	default:
		w.sent = opts.Revision
		if changes := c.ring.after(opts.Revision); len(changes) > 0 {
			w.backlog = &backlog{changes: changes}
			w.sent = changes[len(changes)-1].revision
		}
	}
	if w.backlog != nil {
		w.counted.Add(1)
	}
	c.watchers.add(w)
	if w.bookmarks {
		c.bookmarking++
		c.arm()
	}
	return w, nil
}

// removeLocked removes w from the index, so that no more events are queued for it. The
// caller holds mu.
func (c *Cache) removeLocked(w *Watcher) {
	if c.watchers.remove(w) && w.bookmarks {
		c.bookmarking--
		c.disarm()
	}
}
