package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The delay before a failed pod is replaced doubles with each failure in a row.
// The documentation of Jobs has six minutes as the longest; upstream's controller,
// which is what people have seen, has ten.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// Failures are those since the last success of a Job. They live in the
// controller's memory, as no field of the status has them.
type Failures struct {
	Count int32
	// Last is when the last one failed.
	Last time.Time
}

// after returns the failures when these pods too have ended, in the order of
// their ends.
func (f Failures) after(succeeded, failed []*corev1.Pod) Failures {
	if len(succeeded)+len(failed) == 0 {
		return f
	}
	type end struct {
		at      time.Time
		success bool
	}
	ends := make([]end, 0, len(succeeded)+len(failed))
	for _, pod := range succeeded {
		ends = append(ends, end{finishTime(pod), true})
	}
	for _, pod := range failed {
		ends = append(ends, end{finishTime(pod), false})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	for _, e := range ends {
		if e.success {
			f = Failures{}
			continue
		}
		f.Count++
		f.Last = e.at
	}
	return f
}

// remaining is how long the next pod has to wait.
func (f Failures) remaining(now time.Time) time.Duration {
	if f.Count == 0 {
		return 0
	}
	delay := firstDelay
	for i := int32(1); i < f.Count && delay < maxDelay; i++ {
		delay *= 2
	}
	return max(0, min(delay, maxDelay)-now.Sub(f.Last))
}
