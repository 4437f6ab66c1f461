package watchcache

import (
	"sort"
	"time"
)

// minRing is the number of changes that are kept regardless of their age.
const minRing = 256

// ring holds the newest changes in the order of their revisions: all changes newer than
// floor. At least one change is kept, so that the floor is below the newest.
type ring struct {
	max      int
	maxBytes int           // of the changes' stored values
	age      time.Duration // negative: no limit
	floor    int64

	buf   []*change // its length is a power of two, or max
	first int
	count int
	bytes int
}

func (r *ring) at(i int) *change { return r.buf[(r.first+i)%len(r.buf)] }

func (r *ring) add(c *change) {
	r.bytes += c.size()
	r.expireTo(minRing-1, c.at)
	for r.count > 0 && (r.count == r.max || r.bytes > r.maxBytes) {
		r.drop()
	}
	if r.count == len(r.buf) {
		r.grow()
	}
	r.buf[(r.first+r.count)%len(r.buf)] = c
	r.count++
}

// expire drops the changes that are too old at now. Without it, the changes of a kind
// that does not change any more would stay.
func (r *ring) expire(now time.Time) { r.expireTo(minRing, now) }

// expireTo is expire that keeps that many changes regardless of their age.
func (r *ring) expireTo(keep int, now time.Time) {
	for r.age >= 0 && r.count > keep && now.Sub(r.at(0).at) > r.age {
		r.drop()
	}
}

// dropTo drops the changes up to a revision.
func (r *ring) dropTo(revision int64) {
	for r.count > 0 && r.at(0).revision <= revision {
		r.drop()
	}
}

// drop drops the oldest change.
func (r *ring) drop() {
	oldest := r.at(0)
	r.floor = oldest.revision
	r.bytes -= oldest.size()
	r.buf[r.first] = nil
	r.first = (r.first + 1) % len(r.buf)
	r.count--
}

func (r *ring) grow() {
	buf := make([]*change, min(max(2*len(r.buf), 64), r.max))
	for i := range r.count {
		buf[i] = r.at(i)
	}
	r.buf, r.first = buf, 0
}

// after returns the changes newer than revision, which must not be below floor.
func (r *ring) after(revision int64) []*change {
	i := sort.Search(r.count, func(i int) bool { return r.at(i).revision > revision })
	if i == r.count {
		return nil
	}
	changes := make([]*change, 0, r.count-i)
	for ; i < r.count; i++ {
		changes = append(changes, r.at(i))
	}
	return changes
}

// reset drops all changes. The ring then covers the changes after floor.
func (r *ring) reset(floor int64) {
	*r = ring{max: r.max, maxBytes: r.maxBytes, age: r.age, floor: floor}
}
