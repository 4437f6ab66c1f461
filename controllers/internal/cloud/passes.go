package cloud

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Passes is the schedule of a controller that handles changes at its start and every period after
// that, as an upstream loop does that handles all objects in each pass. A key that nothing has
// woken costs nothing. It is safe for concurrent use.
type Passes struct {
	epoch  time.Time
	period time.Duration

	mu  sync.Mutex
	due map[types.NamespacedName]time.Time
}

// NewPasses returns the passes of a controller that starts at epoch.
func NewPasses(epoch time.Time, period time.Duration) *Passes {
	return &Passes{epoch: epoch, period: period, due: map[types.NamespacedName]time.Time{}}
}

// Wake makes the next pass handle a key. A pass at the present moment is the next one.
func (p *Passes) Wake(key types.NamespacedName, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, woken := p.due[key]; !woken {
		p.due[key] = p.next(now)
	}
}

// next returns the time of the first pass that is not before now.
func (p *Passes) next(now time.Time) time.Time {
	since := now.Sub(p.epoch)
	if since <= 0 {
		return p.epoch
	}
	return p.epoch.Add((since + p.period - 1) / p.period * p.period)
}

// Take reports whether a pass that handles the key is due. Otherwise it returns the time until
// then; 0 if nothing has woken the key.
func (p *Passes) Take(key types.NamespacedName, now time.Time) (bool, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due, woken := p.due[key]
	if !woken {
		return false, 0
	}
	if wait := due.Sub(now); wait > 0 {
		return false, wait
	}
	delete(p.due, key)
	return true, 0
}

// Again makes the next pass after now handle a key, and returns the time until then.
func (p *Passes) Again(key types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.next(now.Add(1))
	p.due[key] = due
	return due.Sub(now)
}
