package watchcache

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/clock/inflight"
)

// WatchOptions say what to watch and from where (Kubernetes documentation, "API
// Concepts: Semantics for watch", and KEP-3157).
type WatchOptions struct {
	Prefix string
	// Key narrows the watch to one key, if it is not empty.
	Key string
	// Label and Field select; nil selects all.
	Label labels.Selector
	Field fields.Selector
	// Revision is the one after which events are wanted, which may be in the future.
	// 0 is the newest state or, with Any, whatever state the cache has.
	Revision int64
	Any      bool
	// SendInitialEvents asks that the state begins the stream as ADDED events, or
	// that it does not. Nil: it does if Revision is 0. With true the state is one
	// not older than Revision, and its end is marked by a bookmark, if Bookmarks.
	SendInitialEvents *bool
	// Bookmarks asks for BOOKMARK events now and then.
	Bookmarks bool
}

// Event is what a watcher is told. The Entry of a bookmark has nothing but a
// Revision. The Entry of a DELETED event is the last state that the watcher could
// see, with the revision at which it went out of its sight.
type Event struct {
	Type  watch.EventType
	Entry *Entry
	// Initial says that the event is part of the state that the watch began with,
	// InitialEventsEnd that this bookmark ends that part.
	Initial, InitialEventsEnd bool
}

// Watch begins a watch. A revision whose events are not kept any more is an Expired
// error; with SendInitialEvents, one that the store has not come to is a Timeout error
// with the cause ResourceVersionTooLarge. The watcher has to be stopped.
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
	if err := c.lockAt(ctx, atLeast, from); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	w := &Watcher{
		cache:     c,
		filter:    newFilter(opts.Prefix, opts.Key, opts.Label, opts.Field),
		bookmarks: opts.Bookmarks,
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

// removeLocked makes w get nothing any more. mu is held.
func (c *Cache) removeLocked(w *Watcher) {
	if c.watchers.remove(w) && w.bookmarks {
		c.bookmarking--
		c.disarm()
	}
}
