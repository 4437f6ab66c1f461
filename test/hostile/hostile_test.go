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

	"minikcm.dev/minikcm/test/binary"
)

var (
	duration = flag.Duration("for", time.Second, "how long each attack lasts")
	maxP99   = flag.Duration("p99", 0, "fail if 1 % of the requests of a well-behaved client take longer; 0: no limit")
)

const (
	memoryLimit = "1Gi"
	// maxResident is what the process may have resident: --memory-limit is about the heap,
	// and is not exact.
	maxResident = 2 << 30
)

// TestMain discards the log of client-go, which reports what the attacks break off.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestAttacks runs each attack against a process of its own.
func TestAttacks(t *testing.T) {
	path := binary.Build(t)
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		t.Run(name, func(t *testing.T) { testAttack(t, path, attacks[name]) })
	}
}

func testAttack(t *testing.T, path string, attack attack) {
	p := startProcess(t.Context(), t, path, memoryLimit)
	run := attack(t, p.attacker(t.Context()))
	ctx, stop := context.WithTimeout(t.Context(), *duration)
	defer stop()
	var working sync.WaitGroup
	var client behaved
	working.Go(func() { client.work(ctx, p.client) })
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
