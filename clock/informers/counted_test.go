package informers_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
)

// An informer that may never be run does not hold time before it is.
func TestCounted(t *testing.T) {
	t.Parallel()
	inner := func() cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, &v1.Pod{}, 0, nil)
	}
	ledger := clock.NewLedger()
	informers.CountedFromRun(inner(), ledger)
	if !ledger.Idle() {
		t.Errorf("before it runs, in flight: %s", ledger)
	}
	informers.Counted(inner(), ledger)
	if ledger.Idle() {
		t.Error("one that must be run is not in flight")
	}
	if i := inner(); informers.CountedFromRun(i, nil) != i {
		t.Error("without a ledger, the informer is another one")
	}
}
