//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

const (
	rawPuts = "raw puts of 1.5 kB into the embedded etcd, 64 writers"
	writers = 64
	puts    = 20_000
)

// BenchmarkRawPuts measures the baseline of the other figures.
func BenchmarkRawPuts(b *testing.B) {
	for b.Loop() {
		put(b)
	}
}

func put(b *testing.B) { putBy(b, writers, rawPuts) }

// rawRate measures raw puts with another number of writers, for comparison with the API.
func rawRate(b *testing.B, writers int) { putBy(b, writers, rawName(writers)) }

func putBy(b *testing.B, writers int, name string) {
	s, err := store.StartEmbedded(b.Context(), store.EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	value := bytes.Repeat([]byte("x"), 1500)
	var next atomic.Int64
	var group sync.WaitGroup
	elapsed := clock.Stopwatch()
	for range writers {
		group.Go(func() {
			for i := next.Add(1); i <= puts; i = next.Add(1) {
				if _, err := s.Put(b.Context(), fmt.Sprintf("/registry/bench/%d", i), value, 0); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	measured.add(name, "puts/s", puts/elapsed().Seconds())
}
