package auth

import "sync"

// maxRecent caps the entries in each of the two generations.
const maxRecent = 1024

// recent caches values that do not change. The zero value is ready to use. When it is
// full, it drops the least recently used half of the entries, approximately.
type recent[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]V
}

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok = r.young[key]; ok {
		return value, true
	}
	if value, ok = r.old[key]; ok {
		r.add(key, value)
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, value)
}

func (r *recent[K, V]) add(key K, value V) {
	if r.young == nil || len(r.young) >= maxRecent {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}
