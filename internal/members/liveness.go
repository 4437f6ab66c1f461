package members

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Liveness judges which members are live by the time since each Lease was last seen to change.
// The zero value knows no member. Its methods may be called concurrently.
//
// A member that is seen for the first time counts as live for LeaseDuration, whatever its Lease
// says, because no clock but the observer's own is trusted.
type Liveness struct {
	mu   sync.Mutex
	seen map[string]sighting
}

type sighting struct {
	resourceVersion string
	at              time.Time
}

// Observe records the present Leases of all members. now is a reading of a monotonic clock.
func (l *Liveness) Observe(leases []*coordinationv1.Lease, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[string]sighting, len(leases))
	for _, lease := range leases {
		s, known := l.seen[lease.Name]
		if !known || s.resourceVersion != lease.ResourceVersion {
			s = sighting{lease.ResourceVersion, now}
		}
		seen[lease.Name] = s
	}
	l.seen = seen
}

// Live reports whether the member whose Lease has the name is live: it has renewed its Lease
// within LeaseDuration, and not released it.
func (l *Liveness) Live(name string, now time.Time) bool {
	silence, known := l.Silence(name, now)
	return known && silence < LeaseDuration
}

// Silence returns the time since the Lease was last seen to change; false if there is no such
// Lease.
func (l *Liveness) Silence(name string, now time.Time) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.seen[name]
	return now.Sub(s.at), known
}
