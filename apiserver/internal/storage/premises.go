package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"minikcm.dev/minikcm/store"
)

// EpochPrefix is the prefix of the keys of the epochs of quotas (admission.Epochs). It is outside
// of Root, so that no API serves them.
const EpochPrefix = "/minikcm/quota/epochs/"

// Premises are the conditions of a request's writes: keys that must still be at the revisions at which
// admission has seen them.
type Premises struct {
	mu  sync.Mutex
	all map[string]premise // by key
}

type premise struct {
	revision int64
	renew    func(ctx context.Context) (revision int64, err error)
}

type premisesKey struct{}

// WithPremises returns a context for the writes of a request. Objects are put only if all premises
// hold when they are stored; deletes do not depend on them.
func WithPremises(ctx context.Context, premises *Premises) context.Context {
	return context.WithValue(ctx, premisesKey{}, premises)
}

// Set makes the writes depend on a key: it must be at revision. If it is not, renew is called, and the
// write is repeated if renew returns the revision at which the write is allowed as well. Otherwise
// nothing is written, and the request fails with the error of renew, an API error. Set replaces an
// earlier premise with this key.
func (p *Premises) Set(key string, revision int64, renew func(ctx context.Context) (int64, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]premise{}
	}
	p.all[key] = premise{revision, renew}
}

// Require is Premises.Set for the writes of ctx. It does nothing without WithPremises.
func Require(ctx context.Context, key string, revision int64, renew func(ctx context.Context) (int64, error)) {
	if premises, ok := ctx.Value(premisesKey{}).(*Premises); ok {
		premises.Set(key, revision, renew)
	}
}

// guarded adds the premises of the context as guards.
func guarded(ctx context.Context) context.Context {
	premises, ok := ctx.Value(premisesKey{}).(*Premises)
	if !ok {
		return ctx
	}
	premises.mu.Lock()
	defer premises.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(premises.all)) {
		ctx = store.WithGuard(ctx, store.Guard{Key: key, Revision: premises.all[key].revision})
	}
	return ctx
}

// renew renews the premise that did not hold. It returns the error of the write if that has no such
// premise.
func renew(ctx context.Context, failed *store.GuardError) error {
	premises, ok := ctx.Value(premisesKey{}).(*Premises)
	if !ok {
		return failed
	}
	premises.mu.Lock()
	p, ok := premises.all[failed.Guard.Key]
	premises.mu.Unlock()
	if !ok {
		return failed
	}
	revision, err := p.renew(ctx)
	if err != nil {
		return &NotStoredError{Err: err}
	}
	premises.Set(failed.Guard.Key, revision, p.renew)
	return nil
}

// putOnPremises puts a value while the context's premises hold, renewed ones included.
func (o *Objects) putOnPremises(ctx context.Context, key string, value []byte, expected int64) (int64, error) {
	for {
		revision, err := o.store.Put(guarded(ctx), key, value, expected)
		var failed *store.GuardError
		if !errors.As(err, &failed) {
			return revision, err
		}
		if err := renew(ctx, failed); err != nil {
			return 0, err
		}
	}
}
