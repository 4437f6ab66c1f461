package serviceip

import "k8s.io/apimachinery/pkg/types"

// pool says which Service has which address or port. It is not safe for concurrent
// use.
type pool[K comparable] struct {
	// stored are the keys of the Services in the store.
	stored map[K]types.UID
	// inFlight are the keys of Services being written, with how many writes each
	// is part of. Several writes of one Service may be on their way at once.
	inFlight map[K]hold
}

type hold struct {
	owner  types.UID
	writes int
}

func newPool[K comparable]() *pool[K] {
	return &pool[K]{stored: map[K]types.UID{}, inFlight: map[K]hold{}}
}

// free reports whether owner may have the key.
func (p *pool[K]) free(key K, owner types.UID) bool {
	if o, taken := p.stored[key]; taken && o != owner {
		return false
	}
	h, taken := p.inFlight[key]
	return !taken || h.owner == owner
}

// unused reports whether nobody has the key, not even owner itself.
func (p *pool[K]) unused(key K) bool {
	_, stored := p.stored[key]
	_, inFlight := p.inFlight[key]
	return !stored && !inFlight
}

// hold keeps a free key for a write.
func (p *pool[K]) hold(key K, owner types.UID) {
	h := p.inFlight[key]
	p.inFlight[key] = hold{owner: owner, writes: h.writes + 1}
}

// drop ends a write's hold.
func (p *pool[K]) drop(key K) {
	h := p.inFlight[key]
	if h.writes--; h.writes > 0 {
		p.inFlight[key] = h
		return
	}
	delete(p.inFlight, key)
}

// forget frees a stored key that was owner's.
func (p *pool[K]) forget(key K, owner types.UID) {
	if p.stored[key] == owner {
		delete(p.stored, key)
	}
}
