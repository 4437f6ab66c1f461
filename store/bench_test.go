package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"minikcm.dev/minikcm/clock"
)

// podSize is roughly the size of a Pod in protobuf.
const podSize = 1500

func benchStore(b *testing.B) *Embedded {
	b.Helper()
	s, err := StartEmbedded(context.Background(), EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// benchRaw returns a whole etcd server, without fsync.
func benchRaw(b *testing.B) *etcdserver.EtcdServer {
	b.Helper()
	f := newFailure()
	cfg := etcdConfig(b.TempDir(), EmbeddedOptions{}, f)
	cfg.UnsafeNoFsync = true
	r, err := startReplicated(context.Background(), cfg, f)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.close)
	return r.server
}

// spread runs n calls of do on workers goroutines, and returns the time it took.
func spread(b *testing.B, workers int, n int64, do func(i int64) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	elapsed := clock.Stopwatch()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := next.Add(1); i <= n; i = next.Add(1) {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	return elapsed()
}

func podKey(i int64) string { return fmt.Sprintf("/registry/pods/default/web-%d", i) }

// BenchmarkPut creates keys in the store and, for comparison, puts them with etcd's own
// in-process client in a second etcd with the same settings. raw/put is the time of the
// latter divided by the time of the former: above 1 the store is faster.
func BenchmarkPut(b *testing.B) {
	ctx, value := context.Background(), make([]byte, podSize)
	for _, writers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, raw := benchStore(b), benchRaw(b)
			client := v3client.New(raw)
			b.Cleanup(func() { _ = client.Close() })
			b.ReportAllocs()
			var took, rawTook time.Duration
			b.ResetTimer()
			// The two alternate, so that other load on the machine affects both.
			for first := int64(0); first < int64(b.N); first += 2048 {
				n := min(2048, int64(b.N)-first)
				took += spread(b, writers, n, func(i int64) error {
					_, err := s.Put(ctx, podKey(first+i), value, 0)
					return err
				})
				b.StopTimer()
				rawTook += spread(b, writers, n, func(i int64) error {
					_, err := client.Put(ctx, podKey(first+i), string(value))
					return err
				})
				b.StartTimer()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/took.Seconds(), "put/s")
			b.ReportMetric(float64(b.N)/rawTook.Seconds(), "raw/s")
			b.ReportMetric(rawTook.Seconds()/took.Seconds(), "raw/put")
		})
	}
}

// BenchmarkPutWatched is BenchmarkPut with as many watches as a cluster has kinds; one of them
// receives every event.
func BenchmarkPutWatched(b *testing.B) {
	ctx, value := context.Background(), make([]byte, podSize)
	s := benchStore(b)
	for i := range 60 {
		if _, err := s.Watch(ctx, fmt.Sprintf("/registry/kind%d/", i), 0); err != nil {
			b.Fatal(err)
		}
	}
	w, err := s.Watch(ctx, "/registry/pods/", 0)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	go spread(b, 64, int64(b.N), func(i int64) error {
		_, err := s.Put(ctx, podKey(i), value, 0)
		return err
	})
	for delivered := 0; delivered < b.N; {
		delivered += len((<-w.Batches()).Events)
	}
}

// BenchmarkGet reads one key from GOMAXPROCS goroutines.
func BenchmarkGet(b *testing.B) {
	ctx, s := context.Background(), benchStore(b)
	if _, err := s.Put(ctx, podKey(0), make([]byte, podSize), 0); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.Get(ctx, podKey(0), 0); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkList reads a page of 500 out of 2,000 keys.
func BenchmarkList(b *testing.B) {
	ctx, s, value := context.Background(), benchStore(b), make([]byte, podSize)
	spread(b, 64, 2000, func(i int64) error {
		_, err := s.Put(ctx, podKey(i), value, 0)
		return err
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.List(ctx, "/registry/pods/", ListOptions{Limit: 500}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRevision reads the newest revision, as every consistent read of the
// apiserver does.
func BenchmarkRevision(b *testing.B) {
	ctx, s := context.Background(), benchStore(b)
	for b.Loop() {
		if _, err := s.Revision(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatchLatency measures the time from the start of a write to its delivery,
// and reports the same for etcd's own client.
func BenchmarkWatchLatency(b *testing.B) {
	ctx, value := context.Background(), make([]byte, podSize)
	s, raw := benchStore(b), benchRaw(b)
	w, err := s.Watch(ctx, "/registry/", 0)
	if err != nil {
		b.Fatal(err)
	}
	client := v3client.New(raw)
	b.Cleanup(func() { _ = client.Close() })
	changes := client.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithPrevKV())
	b.ResetTimer()
	took := spread(b, 1, int64(b.N), func(i int64) error {
		_, err := s.Put(ctx, podKey(i), value, 0)
		<-w.Batches()
		return err
	})
	b.StopTimer()
	rawTook := spread(b, 1, int64(b.N), func(i int64) error {
		_, err := client.Put(ctx, podKey(i), string(value))
		<-changes
		return err
	})
	b.ReportMetric(rawTook.Seconds()/took.Seconds(), "raw/delivered")
}

// BenchmarkProgress measures the time from a progress request to its delivery on 60
// watches.
func BenchmarkProgress(b *testing.B) {
	ctx, s := context.Background(), benchStore(b)
	var watches []Watch
	for i := range 60 {
		w, err := s.Watch(ctx, fmt.Sprintf("/registry/kind%d/", i), 0)
		if err != nil {
			b.Fatal(err)
		}
		watches = append(watches, w)
	}
	b.ResetTimer()
	for b.Loop() {
		if err := s.RequestProgress(ctx, ""); err != nil {
			b.Fatal(err)
		}
		for _, w := range watches {
			<-w.Batches()
		}
	}
}

// BenchmarkStart starts a store until it accepts writes, and closes it.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := StartEmbedded(context.Background(), EmbeddedOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
}
