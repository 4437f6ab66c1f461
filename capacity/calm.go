package capacity

import (
	"sync"
	"time"

	"minikcm.dev/minikcm"
)

// calm records the time of the last write that matters for settling.
type calm struct {
	stop func()

	mu   sync.Mutex
	last time.Time
}

func watchCalm(cluster *minikcm.Cluster) *calm {
	c := &calm{}
	c.stop = cluster.Writes().Observe(func(w *minikcm.Write) {
		if matters(w) {
			c.disturb(w.Time)
		}
	})
	return c
}

func (c *calm) disturb(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = at
}

func (c *calm) since() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
