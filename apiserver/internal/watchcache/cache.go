package watchcache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/internal/inflight"
)

// Cache is the watch cache of one prefix. It starts with the first read or watch and
// uses no resources before that. All methods are safe for concurrent use.
type Cache struct {
	cfg     Config
	started atomic.Bool
	pending pending
	// changed is lastChange, for readers without the lock.
	changed atomic.Int64
	// Changes up to and including forgotten are not kept in ring. It is written under mu.
	forgotten atomic.Int64
	ended     sync.WaitGroup
	// bookmarkDue wakes the cache's goroutine when bookmarks are due.
	bookmarkDue chan struct{}

	mu     sync.RWMutex
	closed bool
	// unwatched is set by EndWatches.
	unwatched bool
	stop      context.CancelFunc // nil until started
	gate      *gate              // of the current attempt to follow the store

	// The cached state includes all changes up to and including rev; lastChange is the
	// revision of the newest change below the prefix. Only the cache's goroutine writes
	// these fields.
	snapshot   *snapshot
	ring       ring
	rev        int64
	lastChange int64

	watchers *index
	touched  []*Watcher // watchers that receive events of the batch being dispatched

	waiters []*waiter
	future  []*waiter // waiters for revisions that the store has not reached
	asked   int64     // newest revision for which progress has been requested

	// owed is the newest revision that this process is known to have written while
	// following. owing is set, and counted in the ledger, while rev < owed.
	following bool
	owed      int64
	owing     inflight.Flag

	bookmarking   int // number of watchers that want bookmarks
	bookmarkTimer utilclock.Timer
	isBookmarkDue inflight.Flag
}

// New returns a cache. It starts no goroutine.
func New(cfg Config) *Cache {
	cfg = cfg.withDefaults()
	return &Cache{
		cfg:         cfg,
		bookmarkDue: make(chan struct{}, 1),
		snapshot:    newSnapshot(),
		ring:        ring{max: cfg.RingSize, maxBytes: cfg.RingBytes, age: cfg.RingAge},
		watchers:    newIndex(cfg.IndexFields),
		owing:       inflight.NewFlag(cfg.Ledger, inflight.Event),

		isBookmarkDue: inflight.NewFlag(cfg.Ledger, inflight.Event),
	}
}

// Close ends all watchers with ErrClosed and waits for the cache's goroutine. Later
// reads and watches return ErrClosed.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	c.ended.Wait()
}

// EndWatches ends all watchers with ErrClosed and lets no other watch begin. Reads go on until
// Close.
func (c *Cache) EndWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatched = true
	c.endWatchersLocked(ErrClosed)
}

func (c *Cache) endWatchersLocked(reason error) {
	var watchers []*Watcher
	c.watchers.all(func(w *Watcher) { watchers = append(watchers, w) })
	for _, w := range watchers {
		c.removeLocked(w)
		w.end(reason)
	}
}

// Wrote announces a write of value, which decodes to obj, before the write is made. The
// cache uses obj, instead of decoding value, in the event of this write, so the caller
// must not modify it afterwards; obj must have no resourceVersion. The caller must call
// Failed of the result if the write fails.
func (c *Cache) Wrote(key string, value []byte, obj runtime.Object) *Write {
	w := &Write{cache: c, key: key, value: value, obj: obj}
	if c.started.Load() {
		c.pending.add(w)
	}
	return w
}

// Committed records the revision of a write or deletion made by this process. The
// ledger counts one event from then on until that revision has been queued for the
// watchers. The caller must itself be counted in the ledger until Committed returns, as
// every request is:
//
//	T1 a request is counted in the ledger and writes revision 7
//	T2 Committed(7): the ledger counts the event as well
//	T3 the request ends and is no longer counted
//	T4 dispatch queues revision 7: the watchers' queues are counted, the event of T2 is not
//
// At every point the ledger counts something, so virtual time stands still until the
// watchers have handled the event.
func (c *Cache) Committed(revision int64) {
	if !c.started.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.following || revision <= c.rev {
		return
	}
	c.owed = max(c.owed, revision)
	c.owing.Set(true)
}

// settle removes the ledger's count once rev has reached owed. The caller holds mu.
func (c *Cache) settle() {
	if c.rev >= c.owed || !c.following {
		c.owing.Set(false)
	}
}

// LastChange returns the revision of the newest change below the prefix that the cache has
// seen; 0 if it has not started.
func (c *Cache) LastChange() int64 { return c.changed.Load() }

// Size returns the number of cached objects and the bytes of their stored values. ok is
// false if the cache has not started.
func (c *Cache) Size() (objects, bytes int64, ok bool) {
	if !c.started.Load() {
		return 0, 0, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return int64(c.snapshot.tree.Len()), c.snapshot.bytes, true
}

// start returns the gate of the current attempt to follow the store, and begins the
// first one. For a watcher from a past revision, from makes the first attempt start
// there, if the store still has that history.
func (c *Cache) start(from int64) (*gate, error) {
	c.mu.RLock()
	g, closed := c.gate, c.closed
	c.mu.RUnlock()
	if closed {
		return nil, fmt.Errorf("reading the watch cache of %s: %w", c.cfg.Prefix, ErrClosed)
	}
	if g != nil {
		return g, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("reading the watch cache of %s: %w", c.cfg.Prefix, ErrClosed)
	}
	if c.stop == nil {
		if c.cfg.Since > 0 && (from == 0 || from > c.cfg.Since) {
			from = c.cfg.Since
		}
		ctx, cancel := context.WithCancel(context.Background())
		c.stop = cancel
		c.gate = newGate()
		c.following = true
		c.started.Store(true)
		c.ended.Add(1)
		go c.run(ctx, from)
	}
	return c.gate, nil
}
