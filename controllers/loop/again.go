package loop

import (
	"context"
	"sync/atomic"
	"time"
)

// unheard is after how long a key is looked at again that asked for it by InCase.
const unheard = 10 * time.Second

type inCaseKey struct{}

// InCase has the key whose reconcile ctx belongs to looked at again some seconds later,
// in case that the event that is to wake it never comes: a conflict need not mean that
// the object has changed, as admission answers with conflicts of its own. Outside of a
// reconcile it does nothing.
func InCase(ctx context.Context) {
	if asked, ok := ctx.Value(inCaseKey{}).(*atomic.Bool); ok {
		asked.Store(true)
	}
}

// withInCase lets what is called with the context use InCase.
func withInCase(ctx context.Context) (context.Context, *atomic.Bool) {
	asked := &atomic.Bool{}
	return context.WithValue(ctx, inCaseKey{}, asked), asked
}
