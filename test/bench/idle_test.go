//go:build unix

package bench

import (
	"context"
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// BenchmarkRestingDay measures a day of virtual time of an idle cluster: the leases, resyncs
// and bookmarks of three nodes.
func BenchmarkRestingDay(b *testing.B) {
	for b.Loop() {
		restingDay(b)
	}
}

func restingDay(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	cluster, err := minikcm.Start(ctx, minikcm.Options{Seed: 1, Clock: minikcm.ClockOptions{Mode: clock.ModeVirtual}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	before := clock.ProcessorTime()
	if err := cluster.Advance(ctx, 24*time.Hour); err != nil {
		b.Fatal(err)
	}
	measured.add("an idle day of three nodes, processor time", "s", (clock.ProcessorTime() - before).Seconds())
}
