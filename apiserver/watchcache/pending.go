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
	writes map[string][]*write
	count  int
}

type write struct {
	value []byte
	obj   runtime.Object
}

// add adds a write. The returned function removes it.
func (p *pending) add(key string, value []byte, obj runtime.Object) (forget func()) {
	w := &write{value: value, obj: obj}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= maxPending {
		return func() {}
	}
	if p.writes == nil {
		p.writes = map[string][]*write{}
	}
	p.writes[key] = append(p.writes[key], w)
	p.count++
	return func() { p.forget(key, w) }
}

// forget removes a failed write w. take matches by bytes only, so the object of w may
// have served another write of the same bytes; that write's own object then remains,
// and forget removes it instead:
//
//	T1 A and B both announce a write of the same bytes to one key
//	T2 B's write succeeds, A's fails with a conflict
//	T3 the event of B's write arrives: take returns A's object, which is equal, and removes it
//	T4 A calls forget: A's entry is gone, so B's is removed; no event will ever take it
func (p *pending) forget(key string, w *write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.writes[key], w)
	if i < 0 {
		i = p.same(key, w.value)
	}
	p.remove(key, i)
}

// take removes and returns the object that value was encoded from, or nil.
func (p *pending) take(key string, value []byte) runtime.Object {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.same(key, value)
	if i < 0 {
		return nil
	}
	obj := p.writes[key][i].obj
	p.remove(key, i)
	return obj
}

func (p *pending) same(key string, value []byte) int {
	return slices.IndexFunc(p.writes[key], func(w *write) bool { return bytes.Equal(w.value, value) })
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
