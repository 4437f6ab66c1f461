package watchcache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// arm starts the timer for the next bookmarks if any watcher asked for them. The timers
// of all caches fire at the same times: the progress that one cache requests from the
// store is reported to all of them, and the others need not request it. The caller
// holds mu.
func (c *Cache) arm() {
	if c.bookmarking == 0 || c.bookmarkTimer != nil || c.isBookmarkDue.IsSet() {
		return
	}
	interval := c.cfg.BookmarkInterval
	past := time.Duration(c.cfg.Clock.Now().UnixNano() % int64(interval))
	c.bookmarkTimer = c.cfg.Clock.AfterFunc(interval-past, c.bookmark)
}

// disarm stops the timer if no watcher wants bookmarks any more. The caller holds mu.
func (c *Cache) disarm() {
	if c.bookmarking == 0 && c.bookmarkTimer != nil {
		c.bookmarkTimer.Stop()
		c.bookmarkTimer = nil
	}
}

// bookmark is the timer's callback: bookmarks are due and are sent with the next batch.
func (c *Cache) bookmark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bookmarkTimer == nil || c.bookmarking == 0 || c.isBookmarkDue.IsSet() {
		return
	}
	c.bookmarkTimer = nil
	c.isBookmarkDue.Set(true)
	select {
	case c.bookmarkDue <- struct{}{}:
	default:
	}
}

// askForBookmarks sends the bookmarks that are due if the cache is at the store's
// newest revision. Otherwise it requests progress from the store, so that a cache
// without changes also gets a recent revision to send.
func (c *Cache) askForBookmarks(ctx context.Context) error {
	newest, err := c.newest(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	isThere := c.rev >= newest
	if isThere && c.isBookmarkDue.IsSet() {
		c.sendBookmarks()
	}
	c.mu.Unlock()
	if isThere {
		return nil
	}
	return c.cfg.Store.RequestProgress(ctx, "")
}

// sendBookmarks queues a bookmark with the cache's revision for each watcher that asked
// for bookmarks and has not received that revision yet. The caller holds mu.
func (c *Cache) sendBookmarks() {
	events := []Event{{Type: watch.Bookmark, Entry: &Entry{Revision: c.rev}}}
	var slow []*Watcher
	c.watchers.all(func(w *Watcher) {
		if !w.bookmarks || w.sent >= c.rev {
			return
		}
		if !w.enqueue(events) {
			slow = append(slow, w)
		}
		w.sent = c.rev
	})
	for _, w := range slow {
		c.removeLocked(w)
		w.end(errTooSlow)
	}
	c.isBookmarkDue.Set(false)
	c.arm()
}
