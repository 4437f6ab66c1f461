package scheduler

import (
	"context"
	"sync"
)

// tasks runs functions on a bounded number of goroutines. Adding never blocks.
type tasks struct {
	mu     sync.Mutex
	wake   *sync.Cond
	queue  []func(context.Context)
	closed bool
}

func newTasks() *tasks {
	t := &tasks{}
	t.wake = sync.NewCond(&t.mu)
	return t
}

func (t *tasks) add(f func(context.Context)) {
	t.mu.Lock()
	t.queue = append(t.queue, f)
	t.mu.Unlock()
	t.wake.Signal()
}

// run executes tasks until close has been called and the queue is empty.
func (t *tasks) run(ctx context.Context, workers int) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for f := t.next(); f != nil; f = t.next() {
				f(ctx)
			}
		})
	}
	group.Wait()
}

func (t *tasks) next() func(context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) == 0 {
		if t.closed {
			return nil
		}
		t.wake.Wait()
	}
	f := t.queue[0]
	t.queue[0] = nil
	t.queue = t.queue[1:]
	return f
}

// close makes run return when all tasks that were added have ended.
func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wake.Broadcast()
}
