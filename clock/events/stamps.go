package events

import (
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
}

func newStamps(c clock.PassiveClock, random *ours.Random) *stamps {
	s := &stamps{clock: c}
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

// Since returns the time that has passed since t.
func (s *stamps) Since(t time.Time) time.Duration { return s.clock.Now().Add(s.shift).Sub(t) }
