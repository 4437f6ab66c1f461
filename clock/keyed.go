package clock

import (
	"sync"

	"minikcm.dev/minikcm/clock/internal/hash"
)

// Keyed is chance that depends on what it is for, and not on when it is asked for:
// what several goroutines draw at once, each for its own key, is the same in every
// run of a seed. It is safe for concurrent use.
type Keyed struct {
	seed uint64

	mu    sync.Mutex
	asked map[uint64]uint32
}

// NewKeyed returns a source for the seed.
func NewKeyed(seed uint64) *Keyed {
	return &Keyed{seed: seed, asked: map[uint64]uint32{}}
}

// For returns a Random for the key. Each time that it is asked for the same key it
// returns another one, in an order that follows from the seed. It remembers some
// bytes for every key.
func (k *Keyed) For(key ...string) *Random {
	h := hash.Of(key...)
	k.mu.Lock()
	n := k.asked[h]
	k.asked[h] = n + 1
	k.mu.Unlock()
	return NewRandom(hash.Mix(hash.Mix(k.seed, h), uint64(n)))
}
