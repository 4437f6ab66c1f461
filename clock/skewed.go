package clock

import "time"

// Skew returns a clock whose time differs from c's by a fixed offset; durations are the same.
func Skew(c Clock, by time.Duration) Clock { return &skewed{Clock: c, by: by} }

type skewed struct {
	Clock
	by time.Duration
}

func (s *skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

func (s *skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }
