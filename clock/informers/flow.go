package informers

import (
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// flow counts the changes that one informer has received and not finished. A change passes
// through three stages, and is counted once for all of them:
//
//   - frame: the client has received its bytes, and the reflector has not stored the object
//     yet;
//   - listed: the reflector collects a streamed list, which replaces the informer's content
//     when it is complete, or is discarded if the stream breaks;
//   - queued: the object is in the informer's queue or in the buffers of its handlers.
//
// From the second stage on, flow identifies an object by its pointer, which client-go passes on
// unchanged. The queue and the buffers are ordered and deliver each object exactly once: the
// informers never resync, and client-go skips handlers for unchanged objects only if they do.
type flow struct {
	ledger *clock.Ledger
	// retries is nil if client-go makes the retries.
	retries *retries

	mu sync.Mutex
	// A stopped flow counts nothing.
	started, stopped bool
	// held is counted in the ledger while the informer has not synced or has no watch.
	held              inflight.Flag
	synced, connected bool
	// paused means that its request waits for time to pass.
	paused bool
	// absent means that the last answer was that there is no such resource.
	absent bool

	// turn is the number of the request. Frames of earlier requests are ignored.
	turn uint64
	// The frames of the current watch: of its initial list, and those after it.
	initialFrames, frames int

	counted  inflight.Tally // frames, listed, queued and emptied
	changes  map[any]*change
	listed   int // how many of changes are listed, not queued
	next     uint64
	handlers map[*handler]struct{}

	// known returns the number of objects in the informer's content. emptied is nil unless a list without objects is on its way.
	known   func() int
	emptied *emptied

	// staged means that events wait for steps while the ledger holds stages; stepped are those that do. peek returns the object of
	// a frame.
	staged  bool
	stepped *heldFrames
	peek    func(frame []byte) runtime.Object
}

// change is an object on its way to the handlers.
type change struct {
	listed  bool
	list    uint64 // the turn of the streamed list that it came with, or 0
	number  uint64 // of all queued ones, in order
	waiting int    // handlers that have not returned from it
	// stopped is how many of waiting wait for steps, paused that the change is not counted for that. gone is one that is not in changes.
	stopped      int
	paused, gone bool
}

func newFlow(ledger *clock.Ledger) *flow {
	return &flow{
		ledger: ledger, retries: newRetries(ledger), connected: true, next: 1,
		held: inflight.NewFlag(ledger, inflight.Event), counted: inflight.NewTally(ledger, inflight.Event),
		changes: map[any]*change{}, handlers: map[*handler]struct{}{}, known: func() int { return 0 },
	}
}

// start counts the informer. It is called before the start of the informer's goroutine.
func (f *flow) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started {
		return
	}
	f.started = true
	f.holdLocked()
}

// stop ends the count of all unfinished changes: the informer has ended.
func (f *flow) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropFramesLocked()
	f.dropEmptiedLocked()
	for _, c := range f.changes {
		f.doneLocked(c)
	}
	clear(f.changes)
	f.stopped = true
	f.holdLocked()
}

// hasSynced is called when the initial list has passed the informer's queue.
func (f *flow) hasSynced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = true
	f.holdLocked()
}

// holdLocked starts or stops counting the informer itself.
func (f *flow) holdLocked() {
	hold := f.started && !f.stopped && !(f.synced && f.connected) && !f.paused
	f.held.Set(hold)
}

// backlog returns the number of changes whose objects are not in the informer's queue yet, and the
// number between the queue and the end of the handlers.
func (f *flow) backlog() (received, undelivered int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.initialFrames + f.frames + f.listed, len(f.changes) - f.listed
}

// request is called when the reflector sends its next list or watch request, or waits before it
// does. It has discarded all objects that it has received and not stored by now.
func (f *flow) request() (turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = false
	f.holdLocked()
	f.dropFramesLocked()
	f.dropListedLocked()
	if f.emptied != nil && !f.emptied.stored {
		f.dropEmptiedLocked()
	}
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

// answered is called with the status of each response.
func (f *flow) answered(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent = status == http.StatusNotFound
}

// isAbsent reports whether there is no such resource. Other work may go on while the informer waits
// for it: only that can make the server serve the resource, or end the informer.
func (f *flow) isAbsent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.absent
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

// connect is called when the requested watch is established.
func (f *flow) connect(turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn == f.turn {
		f.connected = true
		f.holdLocked()
	}
}

// disconnect is called when the watch has ended. The reflector will start another.
func (f *flow) disconnect(turn uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn == f.turn {
		f.connected = false
		f.holdLocked()
	}
}

// begin counts a frame before the client gets its first byte.
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

// void ends the count of a frame that will not be stored as an object.
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
	f.admitLocked()
	f.counted.Add(-1)
}

func (f *flow) dropFramesLocked() {
	f.counted.Add(-(f.initialFrames + f.frames))
	f.initialFrames, f.frames = 0, 0
}

// dropListedLocked ends the count of the objects of a list that was not completed, or that
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

// stored is called when the reflector stores in. out is the result of the informer's transform,
// which may have failed. The reflector stores objects in the informer's queue, under whose lock
// stored is called, or in the store of a streamed list. The objects of a streamed list are
// stored a second time when the list replaces the informer's content.
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
		f.doneLocked(c)
		return
	}
	f.changes[out] = c
	if c.listed {
		f.listed++
		return
	}
	f.dropEmptiedLocked()
	c.number = f.next
	f.next++
	c.waiting = len(f.handlers)
}

// join makes the next changes wait for h.
func (f *flow) join(h *handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.since, h.seen = f.next, f.next-1
	f.handlers[h] = struct{}{}
}

// leave stops waiting for h.
func (f *flow) leave(h *handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.handlers, h)
	f.withoutLocked(h)
	for obj, c := range f.changes {
		if !c.listed && c.number > h.seen {
			f.passedLocked(obj, c)
		}
	}
}

// handled is called when h has returned from obj.
func (f *flow) handled(h *handler, obj any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.changes[obj]
	if c == nil || c.listed || c.number < h.since {
		return
	}
	if c.list == f.turn {
		// Its list is complete; objects that are still listed were not part of it.
		f.dropListedLocked()
	}
	if _, there := f.handlers[h]; there {
		h.seen = c.number
		f.passedLocked(obj, c)
	}
}

func (f *flow) passedLocked(obj any, c *change) {
	c.waiting--
	if c.waiting > 0 {
		f.pauseLocked(c)
		return
	}
	delete(f.changes, obj)
	f.doneLocked(c)
}
