package informers

import (
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// flow counts what one informer has been handed and not finished. A change passes
// three stages, and is counted once through all of them:
//
//   - a frame: its bytes have been given to the client, and the reflector has not
//     stored the object yet;
//   - listed: the reflector collects a streamed list, which replaces the informer's
//     content only when it is complete, or never, if the stream breaks;
//   - queued: it is in the informer's queue or in the buffers of its handlers.
//
// From the second on, an object is known by its identity: client-go passes on the
// pointer that it has decoded. Its queue and its handlers' buffers are in order and
// pass on each object exactly once: the informers never resync, and client-go holds
// back unchanged objects from handlers only if they do.
type flow struct {
	ledger *clock.Ledger
	// retries is nil where they are left to client-go.
	retries *retries

	mu sync.Mutex
	// A stopped flow counts nothing any more.
	started, stopped bool
	// held: the informer itself is in flight, as it is not synced or has no watch.
	held              inflight.Flag
	synced, connected bool
	// paused: its request waits for time to pass.
	paused bool

	// turn numbers the requests; what belongs to an earlier one is void.
	turn uint64
	// Frames of the current watch: of its initial list, and after it.
	initialFrames, frames int

	counted  inflight.Tally // frames, listed and queued
	changes  map[any]*change
	listed   int // how many of changes are listed, not queued
	next     uint64
	handlers map[*handler]struct{}
}

// change is an object on its way to the handlers.
type change struct {
	listed  bool
	list    uint64 // the turn of the streamed list that it came with, or 0
	number  uint64 // of all queued ones, in order
	waiting int    // handlers that have not returned from it
}

func newFlow(ledger *clock.Ledger) *flow {
	return &flow{
		ledger: ledger, retries: newRetries(ledger), connected: true, next: 1,
		held: inflight.NewFlag(ledger, inflight.Event), counted: inflight.NewTally(ledger, inflight.Event),
		changes: map[any]*change{}, handlers: map[*handler]struct{}{},
	}
}

// start counts the informer, before the goroutine that runs it exists.
func (f *flow) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started {
		return
	}
	f.started = true
	f.holdLocked()
}

// stop gives up all that the informer has not finished: it has ended.
func (f *flow) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropFramesLocked()
	f.counted.Add(-len(f.changes))
	clear(f.changes)
	f.stopped = true
	f.holdLocked()
}

// hasSynced: the initial list has passed the informer's queue.
func (f *flow) hasSynced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = true
	f.holdLocked()
}

// holdLocked counts the informer itself, or no longer.
func (f *flow) holdLocked() {
	hold := f.started && !f.stopped && !(f.synced && f.connected) && !f.paused
	f.held.Set(hold)
}

// request is called when the reflector sends its next list or watch request, or waits
// before it does. What it had been handed and did not store by now, it has thrown away.
func (f *flow) request() (turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = false
	f.holdLocked()
	f.dropFramesLocked()
	f.dropListedLocked()
	f.turn++
	return f.turn
}

// mayPause reports whether time may pass while a request waits. It may not before the informer
// has synced: a controller that waits for several informers gets the objects of the others as
// work, which is counted, but which it begins only when all have synced.
func (f *flow) mayPause() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced
}

// Pause and Resume implement inflight.Pauser, for a request that waits for time to pass.
func (f *flow) Pause()  { f.setPaused(true) }
func (f *flow) Resume() { f.setPaused(false) }

func (f *flow) setPaused(paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = paused
	f.holdLocked()
}

// connect: the watch that was requested is established.
func (f *flow) connect(turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn == f.turn {
		f.connected = true
		f.holdLocked()
	}
}

// disconnect: the watch has ended. The reflector will start another.
func (f *flow) disconnect(turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn == f.turn {
		f.connected = false
		f.holdLocked()
	}
}

// begin counts a frame whose first byte is about to be handed out.
func (f *flow) begin(turn uint64, initial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn != f.turn || f.stopped {
		return
	}
	if initial {
		f.initialFrames++
	} else {
		f.frames++
	}
	f.counted.Add(1)
}

// void takes back a frame that will not be stored as an object.
func (f *flow) void(turn uint64, initial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn != f.turn || f.stopped {
		return
	}
	if initial {
		f.initialFrames--
	} else {
		f.frames--
	}
	f.counted.Add(-1)
}

func (f *flow) dropFramesLocked() {
	f.counted.Add(-(f.initialFrames + f.frames))
	f.initialFrames, f.frames = 0, 0
}

// dropListedLocked gives up the objects of a list that was not completed, or that
// changed while it was streamed.
func (f *flow) dropListedLocked() {
	if f.listed == 0 {
		return
	}
	for obj, c := range f.changes {
		if c.listed {
			delete(f.changes, obj)
		}
	}
	f.counted.Add(-f.listed)
	f.listed = 0
}

// stored is called when the reflector stores in, which the informer's transform has
// made out, or refused: in the informer's queue, under whose lock it is called, or
// in the store where it collects a streamed list. What was collected is stored a
// second time when the list replaces the informer's content.
func (f *flow) stored(in, out any, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	c, again := f.changes[in]
	if again {
		delete(f.changes, in)
		if c.listed {
			c.listed = false
			f.listed--
		}
	} else {
		c = &change{}
		switch {
		case f.initialFrames > 0:
			f.initialFrames--
			c.listed, c.list = true, f.turn
		case f.frames > 0:
			f.frames--
		default: // an element of a plain list
			f.counted.Add(1)
		}
	}
	if err != nil {
		f.counted.Add(-1)
		return
	}
	f.changes[out] = c
	if c.listed {
		f.listed++
		return
	}
	c.number = f.next
	f.next++
	c.waiting = len(f.handlers)
}

// join counts h from the next change on.
func (f *flow) join(h *handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.since, h.seen = f.next, f.next-1
	f.handlers[h] = struct{}{}
}

// leave no longer waits for h.
func (f *flow) leave(h *handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.handlers, h)
	for obj, c := range f.changes {
		if !c.listed && c.number > h.seen {
			f.passedLocked(obj, c)
		}
	}
}

// handled: h has returned from obj.
func (f *flow) handled(h *handler, obj any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.changes[obj]
	if c == nil || c.listed || c.number < h.since {
		return
	}
	if c.list == f.turn {
		// The list it came with is complete; what is still listed was not in it.
		f.dropListedLocked()
	}
	if _, there := f.handlers[h]; there {
		h.seen = c.number
		f.passedLocked(obj, c)
	}
}

func (f *flow) passedLocked(obj any, c *change) {
	c.waiting--
	if c.waiting == 0 {
		delete(f.changes, obj)
		f.counted.Add(-1)
	}
}
