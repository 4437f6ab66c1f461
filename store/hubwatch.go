package store

import (
	"context"
	"slices"
	"strings"
)

const (
	// maxQueued caps the events that wait for a slow consumer. Beyond it the watch
	// stops queueing and reads the rest from the history later.
	maxQueued = 8192
	// historyChunk is the number of revisions per read of the history.
	historyChunk = 1000
)

// hubWatch is one watch of a hub. While its consumer keeps up, the hub puts each batch
// directly into the channel. Otherwise events collect in queue, and run delivers them
// merged. A watch that starts in the past, or whose queue has reached maxQueued, is not
// live: run reads the history until it has caught up with the hub.
//
// For example, with the hub at revision 100 and a watch from revision 40:
//
//	T1 watch: live is false, next is 40
//	T2 run reads 40..100 from the history; next is 101
//	T3 the hub dispatches 101 and skips the watch, which is not live
//	T4 run sees next <= 101, reads 101 from the history; next is 102
//	T5 run sees next > rev (101): live is true; the hub queues 102 and later for it
//
// T5 and dispatch hold hub.mu, so that no revision falls between the two.
type hubWatch struct {
	hub     *hub
	prefix  string
	from    int64
	batches chan Batch
	wake    chan struct{}
	err     error // set before batches is closed

	// Guarded by hub.mu.
	live     bool
	idle     bool    // run waits on wake, and every batch taken from queue is in batches
	queue    []Event // whole revisions after dispatch returns
	next     int64   // if not live: the first revision to read from the history
	progress int64   // revision of the progress requested; 0: none
}

// Batches implements Watch.
func (w *hubWatch) Batches() <-chan Batch { return w.batches }

// Err implements Watch.
func (w *hubWatch) Err() error { return w.err }

// wants reports whether the hub delivers an event to the watch. The caller holds hub.mu.
func (w *hubWatch) wants(key string, revision int64) bool {
	return w.live && revision >= w.from && strings.HasPrefix(key, w.prefix)
}

// add queues an event. The caller holds hub.mu.
func (w *hubWatch) add(event *Event) {
	revision := event.KeyValue.ModRevision
	if n := len(w.queue); n >= maxQueued && w.queue[n-1].KeyValue.ModRevision < revision {
		w.live, w.next = false, revision
		return
	}
	w.queue = append(w.queue, *event)
}

// flush delivers the queue if the channel has room, and wakes run if it has not. The
// caller holds hub.mu.
func (w *hubWatch) flush() {
	if !w.idle {
		return
	}
	if n := len(w.queue); n > 0 {
		if w.put(Batch{Events: w.queue, Revision: w.queue[n-1].KeyValue.ModRevision}) {
			w.queue = nil
		}
	} else if w.live && w.progressDue() && w.put(Batch{Revision: w.hub.rev.Load()}) {
		w.progress = 0
	}
	if len(w.queue) > 0 || w.progressDue() {
		w.idle = false
		w.wake <- struct{}{}
	}
}

// put adds a batch to batches without blocking, and reports whether there was room.
func (w *hubWatch) put(batch Batch) bool {
	select {
	case w.batches <- batch:
		return true
	default:
		return false
	}
}

func (w *hubWatch) progressDue() bool {
	return w.progress > 0 && w.hub.rev.Load() >= w.progress
}

// run delivers the events that the hub could not put into the channel, until the watch ends.
func (w *hubWatch) run(ctx context.Context) {
	defer w.hub.ended.Done()
	err := w.deliver(ctx)
	w.hub.mu.Lock()
	w.hub.watches = slices.DeleteFunc(w.hub.watches, func(other *hubWatch) bool { return other == w })
	w.err = err
	close(w.batches)
	w.hub.mu.Unlock()
}

func (w *hubWatch) deliver(ctx context.Context) error {
	for {
		batch, err := w.take(ctx)
		if err != nil || batch == nil {
			return err
		}
		if len(batch.Events) == 0 && batch.Revision == 0 {
			continue // woken up, or no matching events in this part of the history
		}
		select {
		case w.batches <- *batch:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.hub.failure.happened:
			return &UnavailableError{Err: w.hub.failure.get()}
		case <-w.hub.stop:
			return nil
		}
	}
}

// take returns the next batch, an empty one if there is none yet, or nil at the end.
func (w *hubWatch) take(ctx context.Context) (*Batch, error) {
	h := w.hub
	h.mu.Lock()
	switch n := len(w.queue); {
	case n > 0:
		batch := &Batch{Events: w.queue, Revision: w.queue[n-1].KeyValue.ModRevision}
		w.queue = nil
		h.mu.Unlock()
		return batch, nil
	case !w.live && w.next > h.rev.Load():
		w.live = true
		h.mu.Unlock()
		return &Batch{}, nil
	case !w.live:
		from := w.next
		to := min(h.rev.Load(), from+historyChunk-1)
		w.next = to + 1
		h.mu.Unlock()
		return w.readHistory(ctx, from, to)
	case w.progressDue():
		batch := &Batch{Revision: h.rev.Load()}
		w.progress = 0
		h.mu.Unlock()
		return batch, nil
	}
	w.idle = true
	h.mu.Unlock()
	select {
	case <-w.wake:
		return &Batch{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.failure.happened:
		return nil, &UnavailableError{Err: h.failure.get()}
	case <-h.stop:
		return nil, nil
	}
}

// readHistory reads events that the hub has already dispatched. It first waits until
// etcd has applied them, because etcd notifies watchers of a revision shortly before it
// can be read.
func (w *hubWatch) readHistory(ctx context.Context, from, to int64) (*Batch, error) {
	h := w.hub
	if h.kv.Rev() < to {
		if err := h.settle(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &UnavailableError{Err: err}
		}
	}
	return readHistory(h.kv, h.backend, w.prefix, from, to)
}
