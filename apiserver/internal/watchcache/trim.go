package watchcache

// laggingBytes is how much a watcher may lag behind when memory is short, as stored.
const laggingBytes = 1 << 20

// Trim frees memory: it drops the changes that are kept for watches from past revisions, as
// Forget does, and ends the watchers that have not taken more than 1 MiB of events. They
// can continue with a list.
func (c *Cache) Trim() {
	c.Forget(c.changed.Load())
	c.mu.Lock()
	defer c.mu.Unlock()
	var lagging []*Watcher
	c.watchers.all(func(w *Watcher) {
		if w.lag() > laggingBytes {
			lagging = append(lagging, w)
		}
	})
	for _, w := range lagging {
		c.removeLocked(w)
		w.end(errTooSlow)
		w.dropQueue()
	}
}

// lag returns the bytes of the queued events.
func (w *Watcher) lag() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// dropQueue drops the queued events of a watch that has ended.
func (w *Watcher) dropQueue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted.Add(-len(w.queue))
	w.queue, w.bytes = nil, 0
}
