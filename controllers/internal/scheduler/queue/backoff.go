package queue

import "time"

// kube-scheduler's defaults.
const (
	initialBackoff = time.Second
	maxBackoff     = 10 * time.Second
	// unschedulableFor is the time after which an unschedulable pod is retried without an
	// event.
	unschedulableFor = 5 * time.Minute
)

// backoffOf returns the back-off after a number of unsuccessful attempts.
func (q *Queue) backoffOf(attempts int) time.Duration {
	return backoff(q.initial, q.longest, attempts)
}

func backoff(initial, longest time.Duration, attempts int) time.Duration {
	d := initial
	for i := 1; i < attempts && d < longest; i++ {
		if d > longest/2 { // twice as much could be too much for a Duration
			return longest
		}
		d *= 2
	}
	return min(d, longest)
}

// armFlushLocked starts the timer that retries pods which have been unschedulable for
// unschedulableFor.
func (q *Queue) armFlushLocked(after time.Duration) {
	if q.flush != nil || q.closed {
		return
	}
	q.timers.Add(1)
	q.flush = q.clock.AfterFunc(after, func() {
		defer q.timers.Done()
		q.flushLeftOver()
	})
}

func (q *Queue) flushLeftOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush = nil
	if q.closed {
		return
	}
	now := q.clock.Now()
	var left []*queuedPod
	next := unschedulableFor
	for _, p := range q.waiting {
		if rest := unschedulableFor - now.Sub(p.since); rest > 0 {
			next = min(next, rest)
			continue
		}
		left = append(left, p)
	}
	q.retryAllLocked(left)
	if len(q.waiting) > 0 {
		q.armFlushLocked(next)
	}
}

// retryAllLocked retries unschedulable pods.
func (q *Queue) retryAllLocked(pods []*queuedPod) {
	for _, p := range pods {
		q.retryLocked(p)
	}
}
