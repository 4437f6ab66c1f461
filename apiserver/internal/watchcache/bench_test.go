package watchcache

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

func newEmbedded(t testing.TB) store.Store {
	t.Helper()
	s, err := store.StartEmbedded(context.Background(), store.EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sortEvents(events []storetest.Event) {
	slices.SortFunc(events, func(a, b storetest.Event) int { return cmp.Compare(a.Revision, b.Revision) })
}

// BenchmarkFanOut delivers one update to 200 watchers, each of which reads the shared
// bytes. Compare the rate of deliveries.
func BenchmarkFanOut(b *testing.B) {
	b.Run("all watch all", func(b *testing.B) {
		benchmarkFanOut(b, func(int) WatchOptions { return WatchOptions{} }, 1)
	})
	b.Run("each watches a node", func(b *testing.B) {
		benchmarkFanOut(b, func(i int) WatchOptions {
			return WatchOptions{Field: fields.OneTermEqualSelector("spec.nodeName", fmt.Sprint("n", i))}
		}, 200)
	})
}

func benchmarkFanOut(b *testing.B, opts func(i int) WatchOptions, nodes int) {
	const watchers = 200
	f := newFixture(b, func(cfg *Config) { cfg.WatcherBuffer = 1 << 30 })
	var delivered atomic.Int64
	var readers sync.WaitGroup
	ctx, cancel := context.WithCancel(f.ctx)
	encode := func(obj runtime.Object) ([]byte, error) { return []byte("x"), nil }
	for i := range watchers {
		w := f.watch(opts(i))
		readers.Go(func() {
			for {
				events, err := w.Next(ctx)
				if err != nil {
					return
				}
				for _, e := range events {
					if _, err := e.Entry.Encoded("form", encode); err != nil {
						b.Error(err)
					}
				}
				delivered.Add(int64(len(events)))
			}
		})
	}
	for i := 0; b.Loop(); i++ {
		f.put(newPod(fmt.Sprint("p", i%100), fmt.Sprint(i), fmt.Sprint("n", i%nodes)))
	}
	if err := f.ledger.WaitIdle(f.ctx); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(delivered.Load())/b.Elapsed().Seconds(), "deliveries/s")
	cancel()
	readers.Wait()
}

// BenchmarkWrite measures the cost that the cache adds to a write: a write alone, and one with
// a cache and one watcher.
func BenchmarkWrite(b *testing.B) {
	run := func(b *testing.B, s store.Store, follow bool) {
		b.Cleanup(func() {
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
		f := newFixtureOn(b, s, prefix)
		ctx, cancel := context.WithCancel(f.ctx)
		var reader sync.WaitGroup
		if follow {
			w := f.watch(WatchOptions{})
			reader.Go(func() {
				for {
					if _, err := w.Next(ctx); err != nil {
						return
					}
				}
			})
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			f.put(newPod(fmt.Sprint("p", i%2000), fmt.Sprint(i), ""))
		}
		if err := f.ledger.WaitIdle(f.ctx); err != nil {
			b.Fatal(err)
		}
		cancel()
		reader.Wait()
	}
	b.Run("memory", func(b *testing.B) { run(b, store.NewMemory(), false) })
	b.Run("memory and cache", func(b *testing.B) { run(b, store.NewMemory(), true) })
	b.Run("embedded", func(b *testing.B) { run(b, newEmbedded(b), false) })
	b.Run("embedded and cache", func(b *testing.B) { run(b, newEmbedded(b), true) })
}

// BenchmarkDispatch dispatches one change, without a store.
func BenchmarkDispatch(b *testing.B) {
	f := newFixture(b)
	var batches []store.Batch
	for i := range 2000 {
		pod := newPod(fmt.Sprint("p", i), "x", "n1")
		value, err := pod.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		batches = append(batches, store.Batch{Events: []store.Event{{KeyValue: store.KeyValue{Key: f.key(pod), Value: value}}}})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		batch := batches[i%len(batches)]
		batch.Revision = int64(i + 1)
		batch.Events[0].KeyValue.ModRevision = batch.Revision
		if err := f.cache.dispatch(batch); err != nil {
			b.Fatal(err)
		}
	}
}
