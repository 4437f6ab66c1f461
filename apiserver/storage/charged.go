package storage

import (
	"context"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/store"
)

// EpochPrefix is the prefix of the keys of the epochs that Charges name. It is outside of
// Root, so that no API serves them.
const EpochPrefix = "/minikcm/quota/epochs/"

// Charges are the epochs in which the writes of a request were charged to quotas, on a
// store that other processes use, too (admission.Epochs).
type Charges struct {
	mu sync.Mutex
	at map[string]int64 // revisions by key
}

type chargesKey struct{}

// WithCharges returns a context for the writes of a request. Objects that are put fail with
// 429, and nothing is written, if an epoch in charges has ended. Deletes are never charged.
func WithCharges(ctx context.Context, charges *Charges) context.Context {
	return context.WithValue(ctx, chargesKey{}, charges)
}

// Set makes the writes depend on an epoch: the key must still be at revision. A repeated
// charge replaces the one before, whose write was not made.
func (c *Charges) Set(key string, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[string]int64{}
	}
	c.at[key] = revision
}

// guarded adds the charges of the context as guards.
func guarded(ctx context.Context) context.Context {
	charges, ok := ctx.Value(chargesKey{}).(*Charges)
	if !ok {
		return ctx
	}
	charges.mu.Lock()
	defer charges.mu.Unlock()
	for key, revision := range charges.at {
		ctx = store.WithGuard(ctx, store.Guard{Key: key, Revision: revision})
	}
	return ctx
}

// uncharged returns the error for a write whose charge a count of its quota may have missed:
// clients repeat it, and are charged again.
func uncharged(err *store.GuardError) error {
	if !strings.HasPrefix(err.Guard.Key, EpochPrefix) {
		return nil
	}
	const retryAfter = 1 // seconds; the count has ended by then
	return &NotStoredError{Err: apierrors.NewTooManyRequests("nothing was written: the usage of a resource quota was counted meanwhile; try again", retryAfter)}
}
