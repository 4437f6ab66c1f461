package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Park puts away a pod that has a node and waits for its volumes or devices. Time may move on while it
// waits. It is popped again, with HasNode set, after Resume or after the timeout. Park returns
// false if the pod has been removed.
func (q *Queue) Park(a *Attempt, timeout time.Duration) bool {
	p := a.queuedPod
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.deleted || q.closed {
		q.dropLocked(p)
		return false
	}
	p.hasNode = true
	q.stampLocked(p)
	q.timers.Add(1)
	// The timer must exist before the ledger stops counting the pod, as in Fail.
	p.timer = q.clock.AfterFunc(timeout, func() {
		defer q.timers.Done()
		q.mu.Lock()
		defer q.mu.Unlock()
		if p.state == parked && !q.closed {
			p.timer = nil
			q.moveLocked(p, active)
		}
	})
	q.moveLocked(p, parked)
	return true
}

// Resume makes a parked pod ready to be popped.
func (q *Queue) Resume(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil && p.state == parked {
		q.moveLocked(p, active)
	}
}
