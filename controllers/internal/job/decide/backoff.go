package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The delay before a failed pod is replaced doubles with each consecutive failure. The
// documentation of Jobs says that the maximum is six minutes; upstream's controller uses
// ten, as here.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// Failures are the failures of a Job since its last success. The controller keeps them in
// memory, because the status has no field for them.
type Failures struct {
	Count int32
	// Last is the time of the most recent failure.
	Last time.Time
}

// after returns the failures after these pods have ended too, in the order of their finish
// times.
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

// remaining returns the time that the next pod has to wait.
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
