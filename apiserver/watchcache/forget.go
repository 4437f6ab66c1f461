package watchcache

// Forget drops the changes that are kept for watchers that begin in the past. Who has
// seen the present revision may still go on from there.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil && !c.closed && c.gate.isOpen() {
		c.ring.reset(c.lastChange)
	}
}
