package events

import (
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	ours "minikcm.dev/minikcm/clock"
)

// stamps is a clock that never gives the same time twice. Names of events end in
// the nanosecond of their making, which does not set two apart on a virtual
// clock that stands still. Two components that report on the same object at the
// same instant are set apart by a random shift of less than a millisecond.
type stamps struct {
	clock clock.PassiveClock
	shift time.Duration

	mu   sync.Mutex
	last time.Time
	// lastAbout has the times that about returned at the present instant.
	instant   time.Time
	shifts    map[string]time.Duration
	lastAbout map[series]time.Time
}

func newStamps(c clock.PassiveClock, random *ours.Random) *stamps {
	s := &stamps{clock: c, shifts: map[string]time.Duration{}, lastAbout: map[series]time.Time{}}
	if random != nil {
		s.shift = time.Duration(random.IntN(int(time.Millisecond)))
	}
	return s
}

// Now returns the clock's time, or the next nanosecond after the last one given.
func (s *stamps) Now() time.Time {
	now := s.clock.Now().Add(s.shift)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.After(s.last) {
		now = s.last.Add(1)
	}
	s.last = now
	return now
}

// series are the events that one component reports about one name, with which their
// own names begin.
type series struct{ component, namespace, name string }

// about returns the clock's time, or the next nanosecond after the last one given in
// the series. What others report at the same moment does not matter: each component's
// times are shifted by another fraction of a millisecond.
func (s *stamps) about(of series) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	shift, known := s.shifts[of.component]
	if !known {
		h := fnv.New64a()
		_, _ = h.Write([]byte(of.component)) // it cannot fail
		shift = time.Duration(h.Sum64() % uint64(time.Millisecond))
		s.shifts[of.component] = shift
	}
	now := s.clock.Now().Add(s.shift + shift)
	if instant := now.Add(-shift); !instant.Equal(s.instant) {
		s.instant = instant
		clear(s.lastAbout)
	}
	if last, again := s.lastAbout[of]; again && !now.After(last) {
		now = last.Add(1)
	}
	s.lastAbout[of] = now
	return now
}

// Since returns the time that has passed since t.
func (s *stamps) Since(t time.Time) time.Duration { return s.clock.Now().Add(s.shift).Sub(t) }
