package store

import "context"

const (
	// maxQueued is how many events wait for a slow consumer before its watch lets
	// go of them and reads them again later, from the history.
	maxQueued = 8192
	// historyChunk is how many revisions are read from the history at a time.
	historyChunk = 1000
)

// hubWatch is one watch of a hub's. While its consumer keeps up, the hub puts
// each batch straight into the channel. Otherwise events collect in queue and run
// delivers them, merged. Beyond maxQueued, or when the watch begins in the past,
// it is not live: run reads the history until it has reached the hub.
type hubWatch struct {
	hub     *hub
	prefix  string
	from    int64
	batches chan Batch
	wake    chan struct{}
	err     error // set before batches is closed

	// Guarded by hub.mu.
	live     bool
	idle     bool    // run waits on wake, and nothing is on its way to batches but what is in it
	queue    []Event // whole revisions, once dispatch has ended
	next     int64   // when not live: the first revision to be read from the history
	progress int64   // revision of the progress asked for; 0: none
	failed   error
}

// Batches implements Watch.
func (w *hubWatch) Batches() <-chan Batch { return w.batches }

// Err implements Watch.
func (w *hubWatch) Err() error { return w.err }

// add queues an event, with hub.mu held.
func (w *hubWatch) add(event *Event, err error) {
	revision := event.KeyValue.ModRevision
	n := len(w.queue)
	switch {
	case err != nil:
		w.failed = err
	case n >= maxQueued && w.queue[n-1].KeyValue.ModRevision < revision:
		w.live, w.next = false, revision
	default:
		w.queue = append(w.queue, *event)
	}
}

// flush gets what is queued on its way, with hub.mu held.
func (w *hubWatch) flush() {
	if !w.idle {
		return
	}
	if n := len(w.queue); n > 0 && w.failed == nil {
		if w.put(Batch{Events: w.queue, Revision: w.queue[n-1].KeyValue.ModRevision}) {
			w.queue = nil
		}
	} else if w.live && w.failed == nil && w.progressDue() && w.put(Batch{Revision: w.hub.rev.Load()}) {
		w.progress = 0
	}
	if len(w.queue) > 0 || w.failed != nil || w.progressDue() {
		w.idle = false
		w.wake <- struct{}{}
	}
}

// put reports whether batches takes a batch at once.
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

// run delivers what the hub could not, until the watch ends.
func (w *hubWatch) run(ctx context.Context) {
	defer w.hub.ended.Done()
	err := w.deliver(ctx)
	w.hub.mu.Lock()
	delete(w.hub.watches, w)
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
			continue // woken, or a stretch of history without events
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

// take returns the next batch, an empty one when there is none yet, or nil at the
// end.
func (w *hubWatch) take(ctx context.Context) (*Batch, error) {
	h := w.hub
	h.mu.Lock()
	switch n := len(w.queue); {
	case n > 0:
		batch := &Batch{Events: w.queue, Revision: w.queue[n-1].KeyValue.ModRevision}
		w.queue = nil
		h.mu.Unlock()
		return batch, nil
	case w.failed != nil:
		defer h.mu.Unlock()
		return nil, w.failed
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

// readHistory reads what the hub has handed out already. etcd tells its watchers
// of a revision a moment before that revision can be read.
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
