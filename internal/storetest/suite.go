package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/store"
)

// patience limits the wait for an expected event.
const patience = 5 * time.Minute

// Open returns a new and empty store, which it closes when the test ends.
type Open func(t *testing.T) store.Store

// Run checks everything that store.Store guarantees.
func Run(t *testing.T, open Open) {
	table := []struct {
		name string
		run  func(context.Context, *testing.T, store.Store)
	}{
		{"writes", testWrites},
		{"conflicts", testConflicts},
		{"guards", testGuards},
		{"history", testHistory},
		{"lists", testLists},
		{"keys", testKeys},
		{"values", testValues},
		{"compaction", testCompaction},
		{"compare-and-put is atomic", testContention},
		{"cancelled context", testCancelled},
		{"closed store", testClosed},
		{"watch of every kind of change", testWatchChanges},
		{"watch from now misses nothing", testWatchFromNow},
		{"watches under load", testWatchLoad},
		{"watch of a slow consumer", testWatchSlow},
		{"watch resumes", testWatchResumes},
		{"watch progress", testWatchProgress},
		{"watch and compaction", testWatchCompaction},
		{"watch ends", testWatchEnds},
	}
	for _, test := range table {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			test.run(ctx, t, open(t))
		})
	}
}

// journal writes to a store and records the writes.
type journal struct {
	t     testing.TB
	store store.Store

	mu     sync.Mutex
	events []Event
	last   map[string]int64 // revision of each existing key
}

func newJournal(t testing.TB, s store.Store) *journal {
	return &journal{t: t, store: s, last: map[string]int64{}}
}

// put writes a key that no other goroutine writes at the same time.
func (j *journal) put(ctx context.Context, key, value string) int64 {
	j.t.Helper()
	revision, err := j.store.Put(ctx, key, []byte(value), j.revisionOf(key))
	if err != nil {
		j.t.Errorf("put: %v", err)
		return 0
	}
	j.note(Event{Type: Put, Revision: revision, Key: key, Value: value})
	return revision
}

// remove deletes a key that no other goroutine writes at the same time.
func (j *journal) remove(ctx context.Context, key string) int64 {
	j.t.Helper()
	revision, err := j.store.Delete(ctx, key, j.revisionOf(key))
	if err != nil {
		j.t.Errorf("delete: %v", err)
		return 0
	}
	j.note(Event{Type: Delete, Revision: revision, Key: key})
	return revision
}

func (j *journal) revisionOf(key string) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last[key]
}

func (j *journal) note(event Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
	if event.Type == Delete {
		delete(j.last, event.Key)
	} else {
		j.last[event.Key] = event.Revision
	}
}

// history returns the writes so far.
func (j *journal) history() History {
	j.mu.Lock()
	defer j.mu.Unlock()
	events := slices.Clone(j.events)
	slices.SortFunc(events, func(a, b Event) int { return int(a.Revision - b.Revision) })
	return History{Events: events}
}

// newest returns the newest revision written.
func (j *journal) newest() int64 {
	events := j.history().Events
	return events[len(events)-1].Revision
}

// readUntil adds the batches of w to stream until it has delivered everything up to
// revision.
func readUntil(ctx context.Context, t testing.TB, w store.Watch, stream *Stream, revision int64) {
	t.Helper()
	for stream.Reached() < revision {
		select {
		case batch, ok := <-w.Batches():
			if !ok {
				stream.End(w.Err())
				t.Errorf("the watch ended at revision %d, before %d: %v", stream.Reached(), revision, w.Err())
				return
			}
			stream.Add(batch)
		case <-ctx.Done():
			t.Errorf("waiting for revision %d of a watch that is at %d: %v", revision, stream.Reached(), ctx.Err())
			return
		}
	}
}

// readToEnd adds the batches of w to stream until w ends.
func readToEnd(ctx context.Context, t testing.TB, w store.Watch, stream *Stream) {
	t.Helper()
	for {
		select {
		case batch, ok := <-w.Batches():
			if !ok {
				stream.End(w.Err())
				return
			}
			stream.Add(batch)
		case <-ctx.Done():
			t.Errorf("waiting for the end of a watch: %v", ctx.Err())
			return
		}
	}
}

// mustWatch opens a watch.
func mustWatch(ctx context.Context, t testing.TB, s store.Store, prefix string, from int64) (store.Watch, *Stream) {
	t.Helper()
	w, err := s.Watch(ctx, prefix, from)
	if err != nil {
		t.Fatal(err)
	}
	return w, &Stream{Prefix: prefix, From: from}
}

// isUnavailable reports whether err is a *store.UnavailableError.
func isUnavailable(err error) bool {
	unavailable := (*store.UnavailableError)(nil)
	return errors.As(err, &unavailable)
}
