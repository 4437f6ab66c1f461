package watchcache

// Forget drops the changes that are kept for watches from past revisions. A client that
// has seen the current revision can still resume from it.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil && !c.closed && c.gate.isOpen() {
		c.ring.reset(c.lastChange)
	}
}
