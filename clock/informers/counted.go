package informers

import (
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock"
)

// Counted returns an informer that did not come from a Factory, with its events seen
// by the ledger as a Factory's are. Its client's configuration must have been
// prepared with Wrap. It counts as in flight from now on until it has synced or
// stopped, so the caller must run it. With a nil ledger it is inner.
func Counted(inner cache.SharedIndexInformer, ledger *clock.Ledger) cache.SharedIndexInformer {
	if ledger == nil {
		return inner
	}
	i := newInformer(inner, ledger)
	i.flow.start()
	return i
}

// CountedFromRun is Counted for an informer that may never be run: it does not count
// as in flight before Run.
func CountedFromRun(inner cache.SharedIndexInformer, ledger *clock.Ledger) cache.SharedIndexInformer {
	if ledger == nil {
		return inner
	}
	return newInformer(inner, ledger)
}
