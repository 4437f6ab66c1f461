package clock

import (
	"hash/fnv"
	"sync"
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
	h := hashOf(key)
	k.mu.Lock()
	n := k.asked[h]
	k.asked[h] = n + 1
	k.mu.Unlock()
	return NewRandom(mix(mix(k.seed, h), uint64(n)))
}

func hashOf(key []string) uint64 {
	h := fnv.New64a()
	for _, part := range key {
		// Writing to a hash cannot fail.
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// mix joins two numbers to one of which every bit depends on all of theirs
// (SplitMix64's finaliser).
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
