package span

import (
	"time"
)

// Forever is an endless duration.
const Forever = time.Duration(1<<63 - 1)

// Sum adds durations, either of which may be Forever.
func Sum(a, b time.Duration) time.Duration {
	if a == Forever || b == Forever || a > Forever-b {
		return Forever
	}
	return a + b
}

// After returns the time d after t; the zero time if d is Forever.
func After(t time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return t.Add(d)
}
