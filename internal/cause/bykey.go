package cause

import (
	"slices"
	"sync"
)

// ByKey holds, for each key of a work queue, the revisions that woke it since its last
// reconcile began. The zero value is ready.
type ByKey[K comparable] struct {
	mu    sync.Mutex
	byKey map[K][]int64
}

// Add records the revisions that woke a key. It keeps the newest, as many as a request carries.
func (c *ByKey[K]) Add(key K, revisions []int64) {
	if len(revisions) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[K][]int64{}
	}
	all := c.byKey[key]
	for _, r := range revisions {
		// In order of revision, as informers of several kinds deliver in any order, and
		// each once, as an object's events are often mapped twice.
		at, known := slices.BinarySearch(all, r)
		if known {
			continue
		}
		if len(all) == maxRevisions {
			if at == 0 {
				continue
			}
			all, at = slices.Delete(all, 0, 1), at-1
		}
		all = slices.Insert(all, at, r)
	}
	c.byKey[key] = all
}

// Take returns and removes the revisions that have woken a key.
func (c *ByKey[K]) Take(key K) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	revisions := c.byKey[key]
	delete(c.byKey, key)
	return revisions
}
