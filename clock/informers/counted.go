package informers

import (
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
)

// Counted wraps an informer that is not from a Factory, so that the ledger counts its events as it
// counts a Factory's. The configuration of its client must have been prepared with Wrap.
// The informer is in flight from the call until it has synced or stopped, so the caller must
// run it. With a nil ledger Counted returns inner.
func Counted(inner cache.SharedIndexInformer, ledger *clock.Ledger) cache.SharedIndexInformer {
	if ledger == nil {
		return inner
	}
	i := newInformer(inner, ledger)
	i.flow.start()
	return i
}

// CountedFromRun is Counted for an informer that may never be run: it is not in flight before
// Run.
func CountedFromRun(inner cache.SharedIndexInformer, ledger *clock.Ledger) cache.SharedIndexInformer {
	if ledger == nil {
		return inner
	}
	return newInformer(inner, ledger)
}
