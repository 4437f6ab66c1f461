package apiserver

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/store"
)

// expirer deletes objects of rows with a TTL (Events, one hour) when the TTL has passed
// since their last write. Objects with the same TTL expire in the order of their
// writes, so one timer per TTL, for the oldest object, is enough.
type expirer struct {
	server *Server
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

func (s *Server) newExpirer() *expirer {
	e := &expirer{server: s, queues: map[time.Duration]*expiryQueue{}}
	ctx, cancel := context.WithCancel(context.Background())
	e.remove, e.cancel = func(x *expiry) { s.removeExpired(ctx, x) }, cancel
	return e
}

// removeExpired deletes an object unless it was written after its expiry was scheduled.
func (s *Server) removeExpired(ctx context.Context, x *expiry) {
	_, err := x.objects.Remove(ctx, x.key, x.revision)
	var conflict *store.ConflictError
	if err != nil && !errors.As(err, &conflict) && ctx.Err() == nil {
		s.opts.Logger.Error(err, "Removing an expired object", "key", x.key)
	}
}

// expiryInterval is the interval of reloads.
const expiryInterval = 10 * time.Minute

// reload schedules what other processes on the store have written: nothing would delete it if
// they ended before it expires. If they do not, the second deletion finds a conflict.
func (e *expirer) reload(ctx context.Context) {
	if err := e.load(ctx); err != nil && ctx.Err() == nil {
		e.server.opts.Logger.Error(err, "Listing the objects that expire")
	}
}

// knows reports whether the expiry of an object's revision is scheduled.
func (e *expirer) knows(ttl time.Duration, key string, revision int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[ttl]
	if q == nil || q.byKey[key] == nil {
		return false
	}
	return q.byKey[key].Value.(*expiry).revision >= revision
}

// load schedules the objects that are stored and were not written by this server.
func (e *expirer) load(ctx context.Context) error {
	for _, row := range e.server.table.All() {
		if row.Strategy.TTL == 0 || row.Storage != nil {
			continue
		}
		objects := e.server.objects(row)
		page, err := e.server.opts.Store.List(ctx, objects.Prefix(""), store.ListOptions{KeysOnly: true})
		if err != nil {
			return err
		}
		for _, kv := range page.KeyValues {
			if !e.knows(row.Strategy.TTL, kv.Key, kv.ModRevision) {
				e.wrote(row.Strategy.TTL, objects, kv.Key, kv.ModRevision)
			}
		}
	}
	return nil
}

// wrote schedules the expiry of an object that has just been written.
func (e *expirer) wrote(ttl time.Duration, objects *storage.Objects, key string, revision int64) {
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
	q.byKey[key] = q.due.PushBack(&expiry{key: key, revision: revision, at: e.server.opts.Clock.Now().Add(ttl), objects: objects})
	if q.timer == nil {
		e.schedule(q)
	}
}

// schedule sets the timer for the oldest object. The caller holds mu.
func (e *expirer) schedule(q *expiryQueue) {
	q.timer = nil
	front := q.due.Front()
	if front == nil || e.stopped {
		return
	}
	wait := front.Value.(*expiry).at.Sub(e.server.opts.Clock.Now())
	q.timer = e.server.opts.Clock.AfterFunc(wait, func() { e.expire(q) })
}

func (e *expirer) expire(q *expiryQueue) {
	due := e.take(q)
	defer e.running.Done()
	for _, x := range due {
		e.remove(x)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.schedule(q)
}

func (e *expirer) take(q *expiryQueue) []*expiry {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running.Add(1)
	now := e.server.opts.Clock.Now()
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

func (e *expirer) stop() {
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
