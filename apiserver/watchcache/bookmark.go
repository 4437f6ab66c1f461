package watchcache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// arm sets the timer for the next bookmarks if anybody wants any. All caches send
// theirs at the same times: the progress that the first one asks the store for is
// reported to all of them, and the others need not ask. mu is held.
func (c *Cache) arm() {
	if c.bookmarking == 0 || c.bookmarkTimer != nil || c.isBookmarkDue.IsSet() {
		return
	}
	interval := c.cfg.BookmarkInterval
	past := time.Duration(c.cfg.Clock.Now().UnixNano() % int64(interval))
	c.bookmarkTimer = c.cfg.Clock.AfterFunc(interval-past, c.bookmark)
}

// disarm stops the timer when nobody wants bookmarks any more. mu is held.
func (c *Cache) disarm() {
	if c.bookmarking == 0 && c.bookmarkTimer != nil {
		c.bookmarkTimer.Stop()
		c.bookmarkTimer = nil
	}
}

// bookmark is called when bookmarks are due. They are sent with the next batch.
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

// askForBookmarks requests progress, so that a resource in which nothing happens has a
// recent revision to tell; unless the cache is where the store is.
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

// sendBookmarks tells the watchers that want it where the cache is, unless they
// know. mu is held.
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
