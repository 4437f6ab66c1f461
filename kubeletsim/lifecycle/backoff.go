package lifecycle

import "time"

// Backoff is how long a container that ended waits before it is started again. The
// first restart happens at once; the one after that when Base has passed since the
// container ended, then twice as long each time, up to Max. A container that ran
// long enough, so that twice Max has passed since its last restart, begins anew.
// The zero value means upstream's 10 seconds and 5 minutes.
type Backoff struct {
	Base, Max time.Duration
}

func (b *Backoff) SetDefaults() {
	if b.Base <= 0 {
		b.Base = 10 * time.Second
	}
	if b.Max <= 0 {
		b.Max = 5 * time.Minute
	}
	b.Max = max(b.Max, b.Base)
}

// next is the delay that follows the given one.
func (b *Backoff) next(delay time.Duration) time.Duration {
	if delay == 0 {
		return b.Base
	}
	return min(2*delay, b.Max)
}

// after is the delay in force after a number of restarts in a row.
func (b *Backoff) after(restarts int32) time.Duration {
	delay := time.Duration(0)
	for range restarts {
		delay = b.next(delay)
		if delay == b.Max {
			break
		}
	}
	return delay
}

// pending is the delay that a container which ended at finished has to wait for,
// when the delay was last raised at raised; 0 when there is none.
func (b *Backoff) pending(delay time.Duration, raised, finished time.Time) time.Duration {
	if finished.Sub(raised) > 2*b.Max {
		return 0
	}
	return delay
}
