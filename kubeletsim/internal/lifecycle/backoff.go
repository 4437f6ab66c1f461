package lifecycle

import "time"

// Backoff configures the delay before a container that ended is restarted. The first restart is
// immediate. The second waits until Base has passed since the container ended, and each further
// one twice as long as the one before, up to Max. The delay is reset when a container ends more
// than twice Max after its last restart. Zero fields mean upstream's 10 seconds and 5 minutes.
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

// next returns the delay that follows the given one.
func (b *Backoff) next(delay time.Duration) time.Duration {
	if delay == 0 {
		return b.Base
	}
	return min(2*delay, b.Max)
}

// after returns the delay in force after a number of consecutive restarts.
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

// pending returns the delay before the restart of a container that ended at finished, if the
// delay was last raised at raised; 0 if the back-off has been reset.
func (b *Backoff) pending(delay time.Duration, raised, finished time.Time) time.Duration {
	if finished.Sub(raised) > 2*b.Max {
		return 0
	}
	return delay
}
