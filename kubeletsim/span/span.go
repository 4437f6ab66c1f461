package span

import (
	"time"
)

// Forever is the duration of what does not end.
const Forever = time.Duration(1<<63 - 1)

// Sum adds durations of which either may be forever.
func Sum(a, b time.Duration) time.Duration {
	if a == Forever || b == Forever || a > Forever-b {
		return Forever
	}
	return a + b
}

// After is d later than t; the zero time when that is never.
func After(t time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return t.Add(d)
}
