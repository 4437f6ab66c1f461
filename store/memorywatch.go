package store

import (
	"context"
	"fmt"
	"strings"
)

// memoryWatch queues the events that its consumer has not read yet. A write costs
// nothing to watches of other prefixes.
type memoryWatch struct {
	store   *Memory
	prefix  string
	from    int64 // the first revision to deliver
	batches chan Batch
	wake    chan struct{}
	err     error // set before batches is closed

	// Guarded by store.mu.
	events   []Event
	progress int64 // revision of the progress requested; 0: none
}

// Batches implements Watch.
func (w *memoryWatch) Batches() <-chan Batch { return w.batches }

// Err implements Watch.
func (w *memoryWatch) Err() error { return w.err }

// Watch implements Store.
func (s *Memory) Watch(ctx context.Context, prefix string, from int64) (Watch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable(ctx)
	if err == nil && from > 0 && from <= s.compacted {
		err = &CompactedError{Compacted: s.compacted}
	}
	if err != nil {
		return nil, fmt.Errorf("watching %q: %w", prefix, err)
	}
	if from <= 0 {
		from = s.revision + 1
	}
	w := &memoryWatch{store: s, prefix: prefix, from: from, batches: make(chan Batch, 1), wake: make(chan struct{}, 1)}
	if from <= s.revision {
		for i := range s.log[from-s.firstLogged():] {
			w.offer(&s.log[from-s.firstLogged()+int64(i)])
		}
	}
	s.watches[w] = struct{}{}
	s.ended.Add(1)
	go w.run(ctx)
	return w, nil
}

// RequestProgress implements Store.
func (s *Memory) RequestProgress(ctx context.Context, prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("requesting progress: %w", err)
	}
	for w := range s.watches {
		if strings.HasPrefix(w.prefix, prefix) {
			w.progress = max(w.progress, s.revision, w.from-1)
			w.wakeRun()
		}
	}
	return nil
}

// offer queues the event if it matches. It wakes run, also when the event makes a
// requested progress due.
func (w *memoryWatch) offer(event *Event) {
	switch wanted := strings.HasPrefix(event.KeyValue.Key, w.prefix) && event.KeyValue.ModRevision >= w.from; {
	case wanted:
		w.events = append(w.events, *event)
	case w.progress == 0:
		return
	}
	w.wakeRun()
}

// wakeRun wakes run.
func (w *memoryWatch) wakeRun() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run delivers batches until the watch ends.
func (w *memoryWatch) run(ctx context.Context) {
	defer w.store.ended.Done()
	w.err = w.deliver(ctx)
	w.store.mu.Lock()
	delete(w.store.watches, w)
	w.store.mu.Unlock()
	close(w.batches)
}

func (w *memoryWatch) deliver(ctx context.Context) error {
	for {
		batch := w.take()
		deliver, wake := w.batches, (<-chan struct{})(nil)
		if batch.Revision == 0 {
			deliver, wake = nil, w.wake
		}
		select {
		case deliver <- batch:
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.store.stop:
			return nil
		}
	}
}

// take returns the next batch, or an empty one if there is none.
func (w *memoryWatch) take() Batch {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(w.events); n > 0 {
		batch := Batch{Events: w.events, Revision: w.events[n-1].KeyValue.ModRevision}
		w.events = nil
		return batch
	}
	if w.progress == 0 || s.revision < w.progress {
		return Batch{}
	}
	w.progress = 0
	return Batch{Revision: s.revision}
}
