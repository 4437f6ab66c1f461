package watchcache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/clock/inflight"
)

// Cache is the watch cache of one prefix. It costs nothing until it is first read
// or watched. All methods are safe for concurrent use.
type Cache struct {
	cfg     Config
	started atomic.Bool
	pending pending
	ended   sync.WaitGroup
	// bookmarkDue wakes the cache's goroutine when bookmarks are to be sent.
	bookmarkDue chan struct{}

	mu     sync.RWMutex
	closed bool
	stop   context.CancelFunc // nil until started
	gate   *gate              // of the present attempt to follow the store

	// What is known: all changes up to and including rev, of which lastChange is
	// the newest that concerned the prefix. Only the cache's goroutine changes it.
	snapshot   *snapshot
	ring       ring
	rev        int64
	lastChange int64

	watchers *index
	touched  []*Watcher // those who get something of the batch being dispatched

	waiters []*waiter
	future  []*waiter // for revisions that the store has not come to
	asked   int64     // the newest revision that progress has been requested for

	// While following, owed is the newest revision that this process is known to
	// have written; owing is set while rev is before it.
	following bool
	owed      int64
	owing     inflight.Flag

	bookmarking   int // how many watchers want bookmarks
	bookmarkTimer utilclock.Timer
	isBookmarkDue inflight.Flag
}

// New returns a cache and starts nothing.
func New(cfg Config) *Cache {
	cfg = cfg.withDefaults()
	return &Cache{
		cfg:         cfg,
		bookmarkDue: make(chan struct{}, 1),
		snapshot:    newSnapshot(),
		ring:        ring{max: cfg.RingSize, age: cfg.RingAge},
		watchers:    newIndex(cfg.IndexFields),
		owing:       inflight.NewFlag(cfg.Ledger, inflight.Event),

		isBookmarkDue: inflight.NewFlag(cfg.Ledger, inflight.Event),
	}
}

// Close ends all watchers with ErrClosed and returns when the cache's goroutine
// has ended. Whoever reads or watches afterwards gets ErrClosed.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	c.ended.Wait()
}

// Wrote announces a write about to be made of value, which decodes to obj. obj has no
// resourceVersion and must not be changed any more: it becomes the object of the event
// of this write. If the write fails, cancel has to be called.
func (c *Cache) Wrote(key string, value []byte, obj runtime.Object) (cancel func()) {
	if !c.started.Load() {
		return func() {}
	}
	return c.pending.add(key, value, obj)
}

// Committed tells the cache that a write or a deletion by this process got a
// revision. From then on until its event is queued for the watchers the ledger
// counts it. So whoever writes must be in the ledger itself until Committed has
// returned, as every request is.
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

// settle takes back the ledger's count when nothing is owed any more. mu is held.
func (c *Cache) settle() {
	if c.rev >= c.owed || !c.following {
		c.owing.Set(false)
	}
}

// start returns the gate of the present attempt, the first of which it begins. A
// watcher that wants to begin at a revision in the past has the cache begin there,
// if the store has the history.
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
