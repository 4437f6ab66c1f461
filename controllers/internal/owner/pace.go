package owner

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// A decision that took time t is followed by a pause of paceFactor x t, so that the
	// decisions about one owner take at most a fifth of a core.
	paceFactor = 4
	// Decisions that take less than paceFloor are not followed by a pause.
	paceFloor = 200 * time.Microsecond
	paceLimit = 200 * time.Millisecond
)

// pace spreads the decisions about an owner over time while events stream in: if each costs in
// proportion to the owner's dependents, one decision covers all events before it. Durations are
// measured by the cluster's clock. Virtual time stands still during a decision, so on
// virtual time there are no pauses.
//
//	10,000 pods start     each becomes Ready, and its event enqueues their Job
//	a decision            counts the 10,000 pods in 18 ms
//	the events of 72 ms   only enqueue the Job, which is decided on at the end of the pause
type pace struct {
	mu   sync.Mutex
	next map[types.NamespacedName]time.Time
}

// left returns how long the pause of an owner still lasts, at most 0 if it is over.
func (p *pace) left(owner types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, paused := p.next[owner]
	if !paused {
		return 0
	}
	left := next.Sub(now)
	if left <= 0 || left > paceLimit { // a clock that was set back does not prolong a pause
		delete(p.next, owner)
		return 0
	}
	return left
}

// decided begins the pause after a decision.
func (p *pace) decided(owner types.NamespacedName, took time.Duration, now time.Time) {
	if took < paceFloor {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[types.NamespacedName]time.Time{}
	}
	p.next[owner] = now.Add(min(paceFactor*took, paceLimit))
}

// forget ends the pause of an owner that is gone.
func (p *pace) forget(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, owner)
}
