package watchcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// TestStress runs writers, resuming watchers and readers concurrently on one cache,
// over the memory and the embedded store.
func TestStress(t *testing.T) {
	t.Run("memory", func(t *testing.T) { stress(t, store.NewMemory(), 500) })
	t.Run("embedded", func(t *testing.T) { stress(t, newEmbedded(t), 200) })
}

func stress(t *testing.T, s store.Store, writes int) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const writers, watchers = 4, 6
	f := newFixtureOn(t, s, prefix, func(cfg *Config) { cfg.WatcherBuffer = 64 })
	base := f.put(newPod("base", "", ""))
	f.catchUp(base) // all watches start after the revision that the cache starts at

	var mu sync.Mutex
	var history storetest.History
	var last int64
	var writing, watching sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for n := range writes {
				pod := newPod(fmt.Sprint("p", i), fmt.Sprint(n), "")
				event := storetest.Event{Key: f.key(pod), Type: storetest.Put, Value: pod.Labels["app"]}
				if n%5 == 4 {
					event.Type, event.Value, event.Revision = storetest.Delete, "", f.remove(pod)
				} else {
					event.Revision = f.put(pod)
				}
				mu.Lock()
				history.Events = append(history.Events, event)
				last = max(last, event.Revision)
				mu.Unlock()
				if _, err := f.cache.List(f.ctx, ListOptions{Prefix: prefix, Match: Consistent}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done, cancel := context.WithCancel(f.ctx)
	streams := make([][]storetest.Stream, watchers)
	for i := range watchers {
		watching.Go(func() { streams[i] = observe(done, f, base, i) })
	}
	writing.Wait()
	f.catchUp(last)
	cancel()
	watching.Wait()

	sortEvents(history.Events)
	for i, all := range streams {
		if err := storetest.Resumable(history, all...); err != nil {
			t.Errorf("watcher %d: %v", i, err)
		}
		if reached := all[len(all)-1].Reached(); reached != last {
			t.Errorf("watcher %d got to revision %d of %d", i, reached, last)
		}
	}
	if err := f.ledger.WaitIdle(f.ctx); err != nil {
		t.Error(err)
	}
}

// observe watches until done, resuming with a new watch every few batches, and then
// reads the remaining events.
func observe(done context.Context, f *fixture, from int64, every int) []storetest.Stream {
	var streams []storetest.Stream
	for {
		w, err := f.cache.Watch(f.ctx, WatchOptions{Prefix: prefix, Revision: from})
		if apierrors.IsResourceExpired(err) {
			f.Error("the ring is too small for this test")
			return streams
		}
		if err != nil {
			f.Error(err)
			return streams
		}
		stream := storetest.Stream{From: from + 1}
		isOver := false
		for n := 0; n <= 3*every; n++ {
			events, err := w.Next(done)
			if errors.Is(err, context.Canceled) {
				isOver = true
				events, err = queued(w)
			}
			if err != nil && !errors.Is(err, ErrClosed) {
				f.Error(err)
			}
			for _, e := range events {
				stream.Events = append(stream.Events, toldBy(e, n))
			}
			if err != nil || isOver {
				isOver = isOver && err == nil && len(events) == 0
				break
			}
		}
		w.Stop()
		streams = append(streams, stream)
		from = stream.Reached()
		if isOver {
			return streams
		}
	}
}

func toldBy(e Event, delivery int) storetest.Event {
	converted := storetest.Event{Type: storetest.Put, Revision: e.Entry.Revision, Key: e.Entry.Key, Delivery: delivery}
	if e.Type == watch.Deleted {
		converted.Type = storetest.Delete
	} else {
		converted.Value = e.Entry.Object().(*v1.Pod).Labels["app"]
	}
	return converted
}
