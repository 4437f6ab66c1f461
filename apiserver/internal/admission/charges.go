package admission

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// charges are the writes that quotas count, from before the quota's status shows them
// until the objects are stored. They protect a quota from a count that misses one:
//
//	T1 the quota's status is at revision 5, with 19 of 20 used
//	T2 a create is admitted: the status is at revision 6, with 20 of 20 used
//	T3 the controller reads revision 6 and counts the objects: 19
//	T4 the object of T2 is stored
//	T5 the controller writes 19 on top of revision 6, which has not changed
//	T6 a create is admitted: 21 objects
//
// Therefore a status that shows less is refused while charges are open, and once after
// they have ended. That refusal gives the quota a new revision, so that
// the next write is based on a count after T4.
type charges struct {
	mu    sync.Mutex
	quota map[types.NamespacedName]*charge
}

// charge is the state of one quota.
type charge struct {
	// open is the number of writes that are charged and may not have been stored.
	open int
	// forgotten reports that the state ends with the last open write.
	forgotten bool
}

// begin notes a charge; end must be called when its write has been stored or refused.
func (c *charges) begin(of types.NamespacedName) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quota == nil {
		c.quota = map[types.NamespacedName]*charge{}
	}
	if c.quota[of] == nil {
		c.quota[of] = &charge{}
	}
	own := c.quota[of]
	own.open++
	own.forgotten = false
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		own.open--
		if own.open == 0 && own.forgotten && c.quota[of] == own {
			delete(c.quota, of)
		}
	}
}

// recent reports whether there have been charges since the last forget, and whether one
// is open.
func (c *charges) recent(of types.NamespacedName) (some, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.quota[of]
	return own != nil, own != nil && own.open > 0
}

// forget drops the charges of a quota; open charges are dropped when they end.
func (c *charges) forget(of types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch own := c.quota[of]; {
	case own == nil:
	case own.open == 0:
		delete(c.quota, of)
	default:
		own.forgotten = true
	}
}
