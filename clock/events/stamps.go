package events

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
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
	// lastAbout has what about gave at the present instant.
	instant   time.Time
	lastAbout map[v1.ObjectReference]time.Time
}

func newStamps(c clock.PassiveClock, random *ours.Random) *stamps {
	s := &stamps{clock: c, lastAbout: map[v1.ObjectReference]time.Time{}}
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

// about returns the clock's time, or the next nanosecond after the last one given for
// the object: names of events begin with the object's, and what is reported of others at
// the same moment does not matter.
func (s *stamps) about(ref v1.ObjectReference) time.Time {
	ref = v1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now().Add(s.shift)
	if !now.Equal(s.instant) {
		s.instant = now
		clear(s.lastAbout)
	}
	if last, again := s.lastAbout[ref]; again && !now.After(last) {
		now = last.Add(1)
	}
	s.lastAbout[ref] = now
	return now
}

// Since returns the time that has passed since t.
func (s *stamps) Since(t time.Time) time.Duration { return s.clock.Now().Add(s.shift).Sub(t) }
