package loop

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
)

// A loop that ends drops its keys, of which one may have been granted to no worker: the
// ledger must not be held up by grants of the others that nobody takes.
func TestKeysAreDroppedAfterAGrant(t *testing.T) {
	ledger := clock.NewLedger()
	ledger.TakeTurns(1, false)
	q := newTurnQueue("loop", ledger)
	for _, name := range []string{"a", "b", "c", "d"} {
		q.Push(types.NamespacedName{Name: name})
	}
	seen := map[types.NamespacedName]bool{}
	for q.Len() > 0 {
		seen[q.Pop()] = true
		ledger.End(clock.Key, 1)
	}
	if len(seen) != 4 || !ledger.Idle() {
		t.Errorf("dropped %v, in flight: %s", seen, ledger)
	}
}
