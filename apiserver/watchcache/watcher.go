package watchcache

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/clock/inflight"
)

// backlogChunk is the most events of a backlog that Next returns at once.
const backlogChunk = 512

// maxSpare is how many events of room a watcher keeps after a burst.
const maxSpare = 1024

// Watcher is one watch. Next and Stop must not be called at the same time: a
// watcher has no goroutine and belongs to the one that reads it.
type Watcher struct {
	cache     *Cache
	filter    filter
	bookmarks bool

	// Guarded by cache.mu.
	staged []Event
	sent   int64 // nothing up to this revision is left to tell

	// The reader's own.
	backlog *backlog // until the first Next
	rest    []Event  // of the backlog

	wake chan struct{} // has a value when there is news for a reader that waits

	mu      sync.Mutex
	queue   []Event
	spare   []Event        // the batch that the reader has had
	taken   int            // how many of counted the reader works on
	counted inflight.Tally // queued, or taken and not done
	err     error
}

// backlog is what a watch begins with: a state, or changes of the past. It is looked
// through by the reader, so that nobody else waits for that.
type backlog struct {
	isState  bool
	state    view
	revision int64
	marked   bool // the state ends with a bookmark
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

// Next returns what there is for the watcher, and waits if there is nothing. The
// events are valid until the next call, which says that they have been dealt with.
// When the watch has ended, and all that was queued has been returned, the error is
// an ErrClosed; when ctx ends, it is the context's.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	w.done()
	if w.backlog != nil {
		w.rest, w.backlog = w.backlog.events(&w.filter), nil
		if len(w.rest) == 0 {
			w.take(1)
			w.done()
		}
	}
	if n := min(len(w.rest), backlogChunk); n > 0 {
		events := w.rest[:n:n]
		w.rest = w.rest[n:]
		if len(w.rest) == 0 {
			w.take(1) // the whole backlog is one in the ledger
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

// poll takes the queue.
func (w *Watcher) poll() ([]Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, w.err
	}
	events := w.queue
	w.taken += len(events)
	w.queue, w.spare = w.spare[:0], events
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

// done takes back the ledger's counts of what the reader has taken.
func (w *Watcher) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.spare)
	w.counted.Add(-w.taken)
	w.taken = 0
}

// enqueue reports whether there was room for the events.
func (w *Watcher) enqueue(events []Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return true
	}
	if len(w.queue)+len(events) > w.cache.cfg.WatcherBuffer {
		return false
	}
	w.counted.Add(len(events))
	w.queue = append(w.queue, events...)
	w.signal()
	return true
}

// end makes Next return err after all that is queued.
func (w *Watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Stop ends the watch and lets go of what has not been read.
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
	w.queue, w.spare, w.rest, w.backlog = nil, nil, nil, nil
}
