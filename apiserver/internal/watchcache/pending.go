package watchcache

import (
	"bytes"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// maxPending caps the number of writes kept. Events of further writes are decoded.
const maxPending = 1 << 16

// pending holds the writes in progress in this process, by key, so that their events
// need not be decoded.
type pending struct {
	mu     sync.Mutex
	writes map[string][]*Write
	count  int
}

// Write is a write that Wrote has announced.
type Write struct {
	cache *Cache
	key   string
	value []byte
	obj   runtime.Object

	mu       sync.Mutex
	revision int64
	stored   runtime.Object
}

// Stored returns the object as the write has stored it at a revision. The cache shares it, so
// it must not be modified.
func (w *Write) Stored(revision int64) runtime.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stored == nil || w.revision != revision {
		w.revision, w.stored = revision, w.cache.cfg.WithRevision(w.obj, revision)
	}
	return w.stored
}

// Failed withdraws the announcement: the write was not made.
func (w *Write) Failed() { w.cache.pending.forget(w) }

// add adds a write, unless there are too many.
func (p *pending) add(w *Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= maxPending {
		return
	}
	if p.writes == nil {
		p.writes = map[string][]*Write{}
	}
	p.writes[w.key] = append(p.writes[w.key], w)
	p.count++
}

// forget removes a failed write w. take matches by bytes only, so the object of w may
// have been used for another write of the same bytes; that write's own object then remains,
// and forget removes it instead:
//
//	T1 A and B both announce a write of the same bytes to one key
//	T2 B's write succeeds, A's fails with a conflict
//	T3 the event of B's write arrives: take returns A's write, which is equal, and removes it
//	T4 A calls forget: A's entry is gone, so B's is removed; no event will ever take it
func (p *pending) forget(w *Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.writes[w.key], w)
	if i < 0 {
		i = p.same(w.key, w.value)
	}
	p.remove(w.key, i)
}

// take removes and returns the write of value, or nil.
func (p *pending) take(key string, value []byte) *Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.same(key, value)
	if i < 0 {
		return nil
	}
	w := p.writes[key][i]
	p.remove(key, i)
	return w
}

func (p *pending) same(key string, value []byte) int {
	return slices.IndexFunc(p.writes[key], func(w *Write) bool { return bytes.Equal(w.value, value) })
}

func (p *pending) remove(key string, i int) {
	if i < 0 {
		return
	}
	p.count--
	if writes := slices.Delete(p.writes[key], i, i+1); len(writes) > 0 {
		p.writes[key] = writes
	} else {
		delete(p.writes, key)
	}
}

// clear removes all writes. The caller has read a list that includes them, so their
// events will not arrive.
func (p *pending) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes, p.count = nil, 0
}
