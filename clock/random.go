package clock

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Random is the cluster's source of chance: generated names, UIDs, jitter and
// random choices. Equal seeds give equal sequences. It is safe for concurrent use.
type Random struct {
	seed uint64
	mu   sync.Mutex
	r    *rand.Rand
}

// NewRandom returns a source that starts from seed.
func NewRandom(seed uint64) *Random {
	return &Random{seed: seed, r: rand.New(rand.NewPCG(seed, 0x6d696e696b636d))}
}

// NewSeed returns a random seed.
func NewSeed() uint64 { return rand.Uint64() }

// IntN returns a number in [0, n). It panics if n <= 0.
func (r *Random) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.IntN(n)
}

// Float64 returns a number in [0, 1).
func (r *Random) Float64() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.Float64()
}

// Uint64 returns any number.
func (r *Random) Uint64() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.Uint64()
}

// Fork returns a source of its own, seeded from this one.
func (r *Random) Fork() *Random { return NewRandom(r.Uint64()) }

// Keyed returns a source that depends only on this one's seed and the key, not on earlier
// draws.
func (r *Random) Keyed(key string) *Random {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, r.seed)
	_, _ = io.WriteString(h, key)
	return NewRandom(h.Sum64())
}

// Fractions returns Keyed's numbers in [0, 1), one after the other. It implements
// inflight.Chances.
func (r *Random) Fractions(key string) (next func() float64) { return r.Keyed(key).Float64 }

// nameAlphabet has no vowels and no digits that look like letters, as in
// k8s.io/apimachinery/pkg/util/rand, so that suffixes spell no words.
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// Suffix returns n characters fit for the end of a generated object name.
func (r *Random) Suffix(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := make([]byte, n)
	for i := range b {
		b[i] = nameAlphabet[r.r.IntN(len(nameAlphabet))]
	}
	return string(b)
}

// UID returns a version 4 UUID (RFC 9562).
func (r *Random) UID() types.UID {
	r.mu.Lock()
	hi, lo := r.r.Uint64(), r.r.Uint64()
	r.mu.Unlock()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0xc<<60) | 0x8<<60
	const hex = "0123456789abcdef"
	b := make([]byte, 0, 36)
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b = append(b, '-')
		}
		word, shift := hi, 60-4*i
		if i >= 16 {
			word, shift = lo, 60-4*(i-16)
		}
		b = append(b, hex[word>>shift&0xf])
	}
	return types.UID(b)
}
