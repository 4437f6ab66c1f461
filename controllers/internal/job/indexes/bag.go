package indexes

import (
	"math/bits"
	"slices"
)

// wordSize is the number of indexes in one word of a Bag.
const wordSize = 64

// Bag is a multiset of completion indexes. Unlike a Set's, the cost of a change does not depend on
// the number of indexes. The zero value is empty.
type Bag struct {
	// words has a bit for each index, and further those that the bag has more than once,
	// without their first.
	words   map[int]uint64
	further map[int]int
	surplus int
}

// Add adds an index, which is not negative.
func (b *Bag) Add(i int) {
	if b.Has(i) {
		if b.further == nil {
			b.further = map[int]int{}
		}
		b.further[i]++
		b.surplus++
		return
	}
	if b.words == nil {
		b.words = map[int]uint64{}
	}
	b.words[i/wordSize] |= 1 << (i % wordSize)
}

// Remove reverses one Add of the index.
func (b *Bag) Remove(i int) {
	switch n := b.further[i]; {
	case n > 1:
		b.further[i]--
		b.surplus--
		return
	case n == 1:
		delete(b.further, i)
		b.surplus--
		return
	}
	word := b.words[i/wordSize] &^ (1 << (i % wordSize))
	if word == 0 {
		delete(b.words, i/wordSize)
		return
	}
	b.words[i/wordSize] = word
}

// Has reports whether the index is in the bag.
func (b *Bag) Has(i int) bool { return b.words[i/wordSize]&(1<<(i%wordSize)) != 0 }

// Surplus returns the number of indexes in the bag beyond the first of each.
func (b *Bag) Surplus() int { return b.surplus }

// Free returns the first n indexes below limit that are neither in the set nor in the bags.
func (s Set) Free(n, limit int, taken ...*Bag) []int {
	found := make([]int, 0, n)
	next := 0
	for _, v := range append(slices.Clip(s), interval{limit, limit}) {
		for end := min(v.first, limit); next < end && len(found) < n; {
			var word uint64
			for _, b := range taken {
				word |= b.words[next/wordSize]
			}
			free := ^word >> (next % wordSize)
			if free == 0 {
				next += wordSize - next%wordSize
				continue
			}
			if next += bits.TrailingZeros64(free); next < end {
				found = append(found, next)
				next++
			}
		}
		next = max(next, v.last+1)
	}
	return found
}
