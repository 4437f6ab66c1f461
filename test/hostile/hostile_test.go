package hostile

import (
	"context"
	"flag"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/test/binary"
)

var (
	duration = flag.Duration("for", time.Second, "how long each attack lasts at least")
	maxP99   = flag.Duration("p99", 0, "fail if 1 % of the requests of a well-behaved client take longer; 0: no limit")
)

const (
	memoryLimit = "1Gi"
	// maxResident caps the resident memory of the process: --memory-limit is about the heap, and is
	// not exact.
	maxResident = 2 << 30
	// serveWithin is how much longer an attack lasts at most, while no request of the well-behaved
	// client has been served: the attacker runs on the same processors.
	serveWithin = time.Minute
)

// TestMain discards the log of client-go, which reports what the attacks break off.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestAttacks runs each attack against a process of its own.
func TestAttacks(t *testing.T) {
	path := binary.Path(t)
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		t.Run(name, func(t *testing.T) { testAttack(t, path, attacks[name]) })
	}
}

func testAttack(t *testing.T, path string, attack attack) {
	p := startProcess(t.Context(), t, path, memoryLimit)
	run := attack(t, p.attacker(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var working sync.WaitGroup
	client := newBehaved()
	working.Go(func() { client.work(ctx, p.client) })
	working.Go(func() {
		defer stop()
		lasts(ctx, client)
	})
	run(ctx)
	working.Wait()
	served, p99, rejected := client.report(t)
	peak := p.peak()
	t.Logf("%d requests served, p99 %v, %d rejected; at most %d MiB resident", served, p99, rejected, peak>>20)
	if *maxP99 > 0 && p99 > *maxP99 {
		t.Errorf("p99 is %v, more than %v", p99, *maxP99)
	}
	if peak > maxResident {
		t.Errorf("%d MiB resident", peak>>20)
	}
}

// lasts returns when an attack has lasted long enough to be judged by what client got.
func lasts(ctx context.Context, client *behaved) {
	_ = inflight.Sleep(ctx, clock.Real(), *duration)
	ctx, stop := context.WithTimeout(ctx, serveWithin)
	defer stop()
	select {
	case <-client.first:
	case <-ctx.Done():
	}
}
