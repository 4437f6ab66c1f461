package members

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Liveness judges which members are live by the time since each Lease was last seen to change.
// The zero value has no members. Its methods may be called concurrently.
//
// A member that is seen for the first time counts as live for that long, whatever its Lease
// says, because no clock but the observer's own is trusted.
type Liveness struct {
	mu   sync.Mutex
	seen map[string]sighting
}

type sighting struct {
	revision int64
	at       time.Time
	// limit is how long the member counts as live without another renewal.
	limit time.Duration
}

// Observe records the Leases of all members. now is a reading of a monotonic clock. The Leases may
// be older than the Leases of an earlier call: an older Lease is no renewal.
func (l *Liveness) Observe(leases []*coordinationv1.Lease, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[string]sighting, len(leases))
	for _, lease := range leases {
		s, known := l.seen[lease.Name]
		if revision := Revision(lease); !known || revision > s.revision {
			s = sighting{revision: revision, at: now, limit: LeaseDuration}
			if len(Roles(lease)) == 0 {
				s.limit = IdleSilence
			}
		}
		seen[lease.Name] = s
	}
	l.seen = seen
}

// Reset forgets all sightings, because the observer could not see renewals for a time: every
// member counts as live for as long as a new one.
func (l *Liveness) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
}

// Live reports whether the member whose Lease has the name is live: it has renewed its Lease
// within LeaseDuration, or IdleSilence if it can run no role, and not released it.
func (l *Liveness) Live(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.seen[name]
	return known && now.Sub(s.at) < s.limit
}

// Silence returns the time since the Lease was last seen to change; false if there is no such
// Lease.
func (l *Liveness) Silence(name string, now time.Time) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.seen[name]
	return now.Sub(s.at), known
}
