package loop

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxCauses bounds what is kept for one key: as much as a request carries.
const maxCauses = 32

// causes holds, for each queued key, the revisions that woke it since its last
// reconcile began. The zero value is ready.
type causes struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName][]int64
}

func (c *causes) add(key types.NamespacedName, revisions []int64) {
	if len(revisions) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[types.NamespacedName][]int64{}
	}
	all := c.byKey[key]
	for _, r := range revisions {
		// In order of revision, as informers of several kinds deliver in any order, and
		// each once, as an object's events are often mapped twice.
		at, known := slices.BinarySearch(all, r)
		if known {
			continue
		}
		if len(all) == maxCauses {
			if at == 0 {
				continue
			}
			all, at = slices.Delete(all, 0, 1), at-1
		}
		all = slices.Insert(all, at, r)
	}
	c.byKey[key] = all
}

func (c *causes) take(key types.NamespacedName) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	revisions := c.byKey[key]
	delete(c.byKey, key)
	return revisions
}
