package kubeletsim

import (
	"context"
	"sync"
)

// crew is goroutines that somebody waits for in the end.
type crew struct {
	mu      sync.Mutex
	over    bool
	members sync.WaitGroup
}

// start runs do in a goroutine, unless it is too late.
func (c *crew) start(do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.members.Go(do)
	}
	return !c.over
}

// wait lets nobody start any more, and returns when all have ended.
func (c *crew) wait() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.members.Wait()
}

// whileServing returns a context that ends with Run.
func (k *Kubelet) whileServing() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-k.ended:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}
