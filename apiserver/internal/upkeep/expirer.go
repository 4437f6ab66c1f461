package upkeep

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// ExpirerOptions holds the parts of the API server that an Expirer uses.
type ExpirerOptions struct {
	// Rows are the built-in rows, and Objects returns the storage of one.
	Rows    []*resources.Resource
	Objects func(row *resources.Resource) *storage.Objects
	Store   store.Store
	Clock   clock.Clock
	Logger  klog.Logger
}

// Expirer deletes objects of rows with a TTL (Events, one hour) when the TTL has passed
// since their last write. Objects with the same TTL expire in the order of their
// writes, so one timer per TTL, for the oldest object, is enough.
type Expirer struct {
	opts ExpirerOptions
	// remove deletes an object, unless the expirer is stopped.
	remove func(*expiry)
	cancel context.CancelFunc // ends remove

	mu      sync.Mutex
	queues  map[time.Duration]*expiryQueue
	stopped bool
	running sync.WaitGroup
}

type expiryQueue struct {
	ttl time.Duration
	// due holds *expiry, the oldest first; byKey finds the element of a key.
	due   *list.List
	byKey map[string]*list.Element
	timer interface{ Stop() bool }
}

type expiry struct {
	key      string
	revision int64
	at       time.Time
	objects  *storage.Objects
}

// NewExpirer returns an Expirer that knows of no objects yet.
func NewExpirer(opts ExpirerOptions) *Expirer {
	e := &Expirer{opts: opts, queues: map[time.Duration]*expiryQueue{}}
	ctx, cancel := context.WithCancel(context.Background())
	e.remove, e.cancel = func(x *expiry) { e.removeExpired(ctx, x) }, cancel
	return e
}

// removeExpired deletes an object unless it was written after its expiry was scheduled.
func (e *Expirer) removeExpired(ctx context.Context, x *expiry) {
	_, err := x.objects.Remove(ctx, x.key, x.revision)
	var conflict *store.ConflictError
	if err != nil && !errors.As(err, &conflict) && ctx.Err() == nil {
		e.opts.Logger.Error(err, "Removing an expired object", "key", x.key)
	}
}

// ReloadInterval is the interval of reloads.
const ReloadInterval = 10 * time.Minute

// Reload schedules the objects that other processes on the store have written: nothing would
// delete them if those processes ended before the objects expire. Otherwise, the second deletion
// finds a conflict.
func (e *Expirer) Reload(ctx context.Context) {
	if err := e.Load(ctx); err != nil && ctx.Err() == nil {
		e.opts.Logger.Error(err, "Listing the objects that expire")
	}
}

// knows reports whether the expiry of an object's revision is scheduled.
func (e *Expirer) knows(ttl time.Duration, key string, revision int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[ttl]
	if q == nil || q.byKey[key] == nil {
		return false
	}
	return q.byKey[key].Value.(*expiry).revision >= revision
}

// Load schedules the objects that are stored and were not written by this server.
func (e *Expirer) Load(ctx context.Context) error {
	for _, row := range e.opts.Rows {
		if row.Strategy.TTL == 0 || row.Storage != nil {
			continue
		}
		objects := e.opts.Objects(row)
		page, err := e.opts.Store.List(ctx, objects.Prefix(""), store.ListOptions{KeysOnly: true})
		if err != nil {
			return err
		}
		for _, kv := range page.KeyValues {
			if !e.knows(row.Strategy.TTL, kv.Key, kv.ModRevision) {
				e.Wrote(row.Strategy.TTL, objects, kv.Key, kv.ModRevision)
			}
		}
	}
	return nil
}

// Wrote schedules the expiry of an object that has just been written.
func (e *Expirer) Wrote(ttl time.Duration, objects *storage.Objects, key string, revision int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return
	}
	q := e.queues[ttl]
	if q == nil {
		q = &expiryQueue{ttl: ttl, due: list.New(), byKey: map[string]*list.Element{}}
		e.queues[ttl] = q
	}
	if old := q.byKey[key]; old != nil {
		q.due.Remove(old)
	}
	q.byKey[key] = q.due.PushBack(&expiry{key: key, revision: revision, at: e.opts.Clock.Now().Add(ttl), objects: objects})
	if q.timer == nil {
		e.schedule(q)
	}
}

// schedule sets the timer for the oldest object. The caller holds mu.
func (e *Expirer) schedule(q *expiryQueue) {
	q.timer = nil
	front := q.due.Front()
	if front == nil || e.stopped {
		return
	}
	wait := front.Value.(*expiry).at.Sub(e.opts.Clock.Now())
	q.timer = e.opts.Clock.AfterFunc(wait, func() { e.expire(q) })
}

func (e *Expirer) expire(q *expiryQueue) {
	due := e.take(q)
	defer e.running.Done()
	for _, x := range due {
		e.remove(x)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.schedule(q)
}

func (e *Expirer) take(q *expiryQueue) []*expiry {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running.Add(1)
	now := e.opts.Clock.Now()
	var due []*expiry
	for front := q.due.Front(); front != nil && !e.stopped; front = q.due.Front() {
		x := front.Value.(*expiry)
		if x.at.After(now) {
			break
		}
		q.due.Remove(front)
		delete(q.byKey, x.key)
		due = append(due, x)
	}
	return due
}

// Stop waits for running deletions; objects expire no more.
func (e *Expirer) Stop() {
	e.mu.Lock()
	e.stopped = true
	for _, q := range e.queues {
		if q.timer != nil {
			q.timer.Stop()
		}
	}
	e.mu.Unlock()
	e.cancel()
	e.running.Wait()
}
