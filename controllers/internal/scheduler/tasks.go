package scheduler

import (
	"context"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
)

// tasks runs functions on a bounded number of goroutines. Functions that wait for time to pass (pausing)
// do not count. Adding never blocks.
type tasks struct {
	mu     sync.Mutex
	wake   *sync.Cond
	queue  []func(context.Context)
	closed bool
	// workers is the bound, alive the number of goroutines, and paused how many of them wait.
	workers, alive, paused int
	running                sync.WaitGroup
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
	t.mu.Lock()
	t.workers = workers
	for range workers {
		t.startLocked(ctx)
	}
	t.mu.Unlock()
	t.running.Wait()
}

func (t *tasks) startLocked(ctx context.Context) {
	t.alive++
	t.running.Go(func() {
		for f := t.next(); f != nil; f = t.next() {
			f(ctx)
		}
	})
}

// next returns the task that a worker runs; nil if the worker ends.
func (t *tasks) next() func(context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) == 0 {
		if t.closed || t.alive-t.paused > t.workers {
			t.alive--
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

// pausing returns a context for the requests of a task that work counts. While they wait for time to
// pass, work is not in flight, and another worker runs the tasks that are in flight.
func (t *tasks) pausing(ctx context.Context, work *inflight.Work) context.Context {
	if work == nil {
		return ctx
	}
	return inflight.WithPauser(inflight.Alone(ctx), &pausedTask{work: work, tasks: t, replace: func() { t.startLocked(ctx) }})
}

// pausedTask is the inflight.Pauser of a task.
type pausedTask struct {
	work  *inflight.Work
	tasks *tasks
	// replace starts another worker, under the lock of tasks.
	replace func()
}

func (p *pausedTask) Pause() {
	t := p.tasks
	t.mu.Lock()
	t.paused++
	if t.alive-t.paused < t.workers {
		p.replace()
	}
	t.mu.Unlock()
	p.work.Pause()
}

func (p *pausedTask) Resume() {
	p.work.Resume()
	p.tasks.mu.Lock()
	p.tasks.paused--
	p.tasks.mu.Unlock()
}
