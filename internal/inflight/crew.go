package inflight

import "sync"

// crew counts the workers of a Queue. While there are fewer than most, one of them waits for a key, and no
// more do than keys are ready:
//
//	worker 1        worker 2        worker 3
//	waits
//	takes a         is started
//	                takes b         is started
//	ends a                          waits
//	ends            ends b          waits
//	                ends
//
// If keys were ready when worker 1 ended a, it would take the next one.
type crew struct {
	most int
	// start starts a worker, which calls wait before it waits for a key, waited afterwards, and left at its end.
	start func()
	// substitute is add, for workers that pause.
	substitute func()

	mu           sync.Mutex
	all, waiting int
}

// add starts a worker whatever the number of others.
func (c *crew) add() {
	c.mu.Lock()
	c.all++
	c.mu.Unlock()
	c.start()
}

// wait reports whether a worker shall wait for a key. ready says whether there is one. The worker ends if
// wait returns false.
func (c *crew) wait(ready bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 && !ready {
		return false
	}
	c.waiting++
	return true
}

// waited ends the wait of a worker, and starts another one if it has a key and no other worker waits.
func (c *crew) waited(hasKey bool) {
	c.mu.Lock()
	c.waiting--
	another := hasKey && c.waiting == 0 && c.all < c.most
	if another {
		c.all++
	}
	c.mu.Unlock()
	if another {
		c.start()
	}
}

// left is called at the end of a worker.
func (c *crew) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
}
