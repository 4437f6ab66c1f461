package faults

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// Faults are those of one API server. All methods may be called from several
// goroutines.
type Faults struct {
	clock  clock.Clock
	ledger *clock.Ledger
	random *clock.Random

	// atRest is true while there is no rule and the server is not down, so that requests
	// that are to be left alone cost one load.
	atRest atomic.Bool

	mu sync.Mutex
	// chances decide about requests, each by what it is for, as several that come at one
	// instant come in no order; drops is how often watches were dropped.
	chances *clock.Keyed
	drops   uint64
	exempt  []string
	rules   []*Rule // in the order of their injection
	streams map[*stream]struct{}
	// down are those who have taken the server away; up is closed when it is back.
	down int
	up   *inflight.Latch // opened when the server is back
}

// New returns none. The ledger counts the watches that are dropped until they have ended.
func New(c clock.Clock, ledger *clock.Ledger, random *clock.Random) *Faults {
	f := &Faults{clock: c, ledger: ledger, random: random, streams: map[*stream]struct{}{}}
	f.settleLocked()
	return f
}

// AtRest reports whether no request is delayed, refused or answered from a stale cache.
// Watches have to be registered by Watching all the same.
func (f *Faults) AtRest() bool { return f.atRest.Load() }

// settleLocked follows what has changed.
func (f *Faults) settleLocked() { f.atRest.Store(len(f.rules) == 0 && f.down == 0) }

// Exempt lets the requests of users pass from now on.
func (f *Faults) Exempt(users ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exempt = append(f.exempt, users...)
}

// IsExempt reports whether the requests of a user pass.
func (f *Faults) IsExempt(user string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.exempt, user)
}

// Inject lets a rule hold until remove is called.
func (f *Faults) Inject(rule Rule) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rules) == 0 {
		f.chances = clock.NewKeyed(f.random.Uint64())
	}
	f.rules = append(f.rules, &rule)
	f.settleLocked()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rules = slices.DeleteFunc(f.rules, func(other *Rule) bool { return other == &rule })
		f.settleLocked()
	}
}

// Fate is what happens to one request.
type Fate struct {
	Latency time.Duration
	// Refusal is the rule by which it fails; nil: by none.
	Refusal *Rule
	// Behind is the revision that answers it; 0: whichever.
	Behind int64
}

// Meet decides about a request. Of several rules, all delay it, and the oldest that
// refuses it does.
func (f *Faults) Meet(r *Request) Fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fate Fate
	if slices.Contains(f.exempt, r.User) {
		return fate
	}
	var chance *clock.Random
	for _, rule := range f.rules {
		if !rule.Matches(r) {
			continue
		}
		if chance == nil && (rule.Share > 0 || rule.Jitter > 0) {
			chance = f.chances.For(r.User, r.UserAgent, r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, r.Name)
		}
		if rule.Share > 0 && chance.Float64() >= rule.Share {
			continue
		}
		fate.Latency += rule.Latency
		if rule.Jitter > 0 {
			fate.Latency += time.Duration(chance.Float64() * float64(rule.Jitter))
		}
		if rule.Code != 0 && fate.Refusal == nil {
			fate.Refusal = rule
		}
		fate.Behind = max(fate.Behind, rule.Behind)
	}
	return fate
}

// Sleep lets a delay pass.
func (f *Faults) Sleep(ctx context.Context, d time.Duration) error {
	return inflight.Sleep(ctx, f.clock, d)
}
