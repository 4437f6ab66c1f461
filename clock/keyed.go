package clock

import (
	"sync"

	"minikcm.dev/minikcm/internal/hash"
)

// Keyed is a random source per key: the numbers drawn for a key depend on the seed, the key and
// the number of earlier draws for that key. So concurrent goroutines that draw for different
// keys get the same numbers in every run of a seed. It is safe for concurrent use.
type Keyed struct {
	seed uint64

	mu    sync.Mutex
	asked map[uint64]uint32
}

// NewKeyed returns a source for the seed.
func NewKeyed(seed uint64) *Keyed {
	return &Keyed{seed: seed, asked: map[uint64]uint32{}}
}

// For returns a Random for the key. Each call for the same key returns a different one, in an
// order that follows from the seed. It stores some bytes per key.
func (k *Keyed) For(key ...string) *Random {
	h := hash.Of(key...)
	k.mu.Lock()
	n := k.asked[h]
	k.asked[h] = n + 1
	k.mu.Unlock()
	return NewRandom(hash.Mix(hash.Mix(k.seed, h), uint64(n)))
}
