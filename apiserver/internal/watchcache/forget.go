package watchcache

// Forget drops the changes up to a revision that are kept for watches from past revisions,
// including changes that the cache has not received yet. A client that has seen the last of
// them can still resume from it.
//
//	the store has 1..7, and the cache has received 1..5
//	Forget(7)             drops 1..5
//	a watch from 4        waits until the cache is at 7, and is refused
//	6 and 7 arrive        they change the cached state and are sent to watchers, but not kept
func (c *Cache) Forget(through int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten.Store(max(c.forgotten.Load(), through))
	c.ring.dropTo(through)
}
