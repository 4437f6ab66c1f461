package watchcache

import (
	"bytes"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// maxPending bounds what is remembered of writes whose events have not come. More
// than that are decoded.
const maxPending = 1 << 16

// pending are the writes under way in this process, by key, so that their events
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

// add remembers a write. The function that it returns forgets it.
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

// forget removes w. If its object has served for the same bytes written by somebody
// else, that write is still here and will not be seen any more: it goes instead.
func (p *pending) forget(key string, w *write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.writes[key], w)
	if i < 0 {
		i = p.same(key, w.value)
	}
	p.remove(key, i)
}

// take returns the object that value was encoded from, or nil.
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

// clear forgets all writes: those that are part of a list that was just read will
// never be seen as events.
func (p *pending) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes, p.count = nil, 0
}
