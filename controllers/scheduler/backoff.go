package scheduler

import "time"

// kube-scheduler's defaults.
const (
	initialBackoff = time.Second
	maxBackoff     = 10 * time.Second
	// unschedulableFor is after how long a pod is retried for which no change of
	// a node seemed to help.
	unschedulableFor = 5 * time.Minute
)

// backoffOf doubles with each attempt in vain.
func backoffOf(attempts int) time.Duration {
	d := initialBackoff
	for i := 1; i < attempts && d < maxBackoff; i++ {
		d *= 2
	}
	return min(d, maxBackoff)
}

// armFlushLocked makes sure that pods are not left behind for longer than
// unschedulableFor.
func (q *queue) armFlushLocked(after time.Duration) {
	if q.flush != nil || q.closed {
		return
	}
	q.timers.Add(1)
	q.flush = q.clock.AfterFunc(after, func() {
		defer q.timers.Done()
		q.flushLeftOver()
	})
}

func (q *queue) flushLeftOver() {
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

// retryAllLocked lets unschedulable pods be decided upon again.
func (q *queue) retryAllLocked(pods []*queuedPod) {
	for _, p := range pods {
		q.retryLocked(p)
	}
}
