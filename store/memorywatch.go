package store

import (
	"context"
	"fmt"
	"strings"
)

// memoryWatch reads the log of a Memory at its consumer's pace.
type memoryWatch struct {
	store   *Memory
	prefix  string
	batches chan Batch
	wake    chan struct{}
	err     error // set before batches is closed

	// Guarded by store.mu.
	next     int64 // the first revision not yet delivered
	progress int64 // revision of the progress asked for; 0: none
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
	w := &memoryWatch{store: s, prefix: prefix, next: from, batches: make(chan Batch, 1), wake: make(chan struct{}, 1)}
	s.watches[w] = struct{}{}
	s.ended.Add(1)
	w.poke()
	go w.run(ctx)
	return w, nil
}

// RequestProgress implements Store.
func (s *Memory) RequestProgress(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("requesting progress: %w", err)
	}
	for w := range s.watches {
		w.progress = max(w.progress, s.revision, w.next-1)
		w.poke()
	}
	return nil
}

// poke has run look for what to deliver.
func (w *memoryWatch) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run delivers until the watch ends.
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
		batch, err := w.take()
		if err != nil {
			return err
		}
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

// take returns the next batch, or an empty one when there is none.
func (w *memoryWatch) take() (Batch, error) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.next <= s.compacted {
		return Batch{}, &CompactedError{Compacted: s.compacted}
	}
	var batch Batch
	if w.next <= s.revision {
		for _, event := range s.log[w.next-s.firstLogged():] {
			if strings.HasPrefix(event.KeyValue.Key, w.prefix) {
				batch.Events = append(batch.Events, event)
				batch.Revision = event.KeyValue.ModRevision
			}
		}
		w.next = s.revision + 1
	}
	if len(batch.Events) == 0 && w.progress > 0 && s.revision >= w.progress {
		batch.Revision, w.progress = s.revision, 0
	}
	return batch, nil
}
