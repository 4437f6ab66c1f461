package apiserver

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"

	"minikcm.dev/minikcm/clock"
)

// requestIDs generates the Audit-IDs of requests that have none: random UUIDs, as
// upstream, derived from one random key and a counter. They differ between runs, so
// that an audit log shared by several processes has unique IDs.
type requestIDs struct {
	key  uint64
	made atomic.Uint64
}

func newRequestIDs() *requestIDs { return &requestIDs{key: clock.NewSeed()} }

func (r *requestIDs) next() string {
	n := 2 * r.made.Add(1)
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], mix(r.key+n))
	binary.BigEndian.PutUint64(id[8:], mix(r.key+n+1))
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // RFC 4122
	return id.String()
}

// mix is the finalizer of splitmix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators").
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
