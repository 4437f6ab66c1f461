package watchcache

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/internal/inflight"
)

// backlogChunk caps the events of a backlog that one Next returns.
const backlogChunk = 512

// maxSpare caps the capacity of the buffer that a watcher keeps after a burst.
const maxSpare = 1024

// Watcher is one watch. It has no goroutine; Next and Stop must be called from one
// goroutine.
type Watcher struct {
	cache     *Cache
	filter    filter
	bookmarks bool

	// Guarded by cache.mu.
	staged []Event
	sent   int64 // events up to this revision have been queued

	// Used by the reader only.
	backlog *backlog // until the first Next
	rest    []Event  // remaining events of the backlog

	wake chan struct{} // has a value if there are events for a waiting reader

	mu      sync.Mutex
	queue   []Event
	bytes   int            // of the queue's entries, as they are stored
	spare   []Event        // the batch that the reader has handled, kept for reuse
	taken   int            // number of counted events that the reader is handling
	counted inflight.Tally // events that are queued, or that the reader is handling, and the end until Stop
	err     error
}

// backlog is the initial content of a watch: a state, or past changes. The reader's
// goroutine filters it, outside the cache's lock, so that other watchers do not wait.
type backlog struct {
	isState  bool
	state    view
	revision int64
	marked   bool // a bookmark follows the state
	changes  []*change
}

func (b *backlog) events(f *filter) []Event {
	var events []Event
	if !b.isState {
		for _, ch := range b.changes {
			if event, ok := f.event(ch); ok {
				events = append(events, event)
			}
		}
		return events
	}
	b.state.each(f, "", func(e *Entry) bool {
		if f.matches(e) {
			events = append(events, Event{Type: watch.Added, Entry: e, Initial: true})
		}
		return true
	})
	if b.marked {
		events = append(events, Event{Type: watch.Bookmark, Entry: &Entry{Revision: b.revision}, InitialEventsEnd: true})
	}
	return events
}

// Next returns the queued events, and waits if there are none. The events are valid
// until the next call, which also means that the caller has handled them. After the
// watch has ended and all queued events have been returned, the error wraps ErrClosed;
// if ctx ends, it is the context's error.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	w.done()
	w.begin()
	if n := min(len(w.rest), backlogChunk); n > 0 {
		events := w.rest[:n:n]
		w.rest = w.rest[n:]
		if len(w.rest) == 0 {
			w.take(1) // the ledger counts the whole backlog as one event
		}
		return events, nil
	}
	for {
		if events, err := w.poll(); len(events) > 0 || err != nil {
			return events, err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Initial reports whether the next events are initial ones: the state, or past changes.
func (w *Watcher) Initial() bool {
	w.begin()
	return len(w.rest) > 0
}

// begin filters the backlog on the first call.
func (w *Watcher) begin() {
	if w.backlog == nil {
		return
	}
	w.rest, w.backlog = w.backlog.events(&w.filter), nil
	if len(w.rest) == 0 {
		w.take(1)
		w.done()
	}
}

// poll takes the queue.
func (w *Watcher) poll() ([]Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, w.err
	}
	events := w.queue
	w.taken += len(events)
	w.queue, w.spare, w.bytes = w.spare[:0], events, 0
	if cap(w.queue) > maxSpare {
		w.queue = nil
	}
	return events, nil
}

func (w *Watcher) take(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken += n
}

// done removes the events that the reader has handled from the ledger.
func (w *Watcher) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.spare)
	w.counted.Add(-w.taken)
	w.taken = 0
}

// enqueue queues events and reports whether there was room.
func (w *Watcher) enqueue(events []Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return true
	}
	bytes := w.bytes
	for i := range events {
		bytes += events[i].Entry.size
	}
	if len(w.queue)+len(events) > w.cache.cfg.WatcherBuffer || bytes > w.cache.cfg.WatcherBytes && len(w.queue) > 0 {
		return false
	}
	w.bytes = bytes
	w.counted.Add(len(events))
	w.queue = append(w.queue, events...)
	w.signal()
	return true
}

// end makes Next return err after the queued events. The ledger counts the end as one event until
// Stop.
func (w *Watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.counted.Add(1)
	}
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Stop ends the watch and drops unread events.
func (w *Watcher) Stop() {
	w.cache.mu.Lock()
	w.cache.removeLocked(w)
	w.cache.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = ErrClosed
	}
	w.counted.Clear()
	w.taken = 0
	w.queue, w.spare, w.rest, w.backlog, w.bytes = nil, nil, nil, nil, 0
}
