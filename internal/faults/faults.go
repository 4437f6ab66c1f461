package faults

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// Faults holds the API faults of one server. It is safe for concurrent use.
type Faults struct {
	clock  clock.Clock
	ledger *clock.Ledger
	random *clock.Random

	// atRest is true while there is no rule and the server is up, so that a request
	// without faults costs one atomic load.
	atRest atomic.Bool

	mu sync.Mutex
	// chances is the source of chance for requests, keyed by the attributes of the
	// request, because requests at the same instant have no defined order. drops counts
	// the calls of DropWatches.
	chances *clock.Keyed
	drops   uint64
	exempt  []string
	rules   []*Rule // in the order of injection
	// gone are the delays of removed rules that requests may still wait for.
	gone   []*inflight.Delays
	ending bool // no rule applies any more
	// webhooks are the rules for webhooks, and calls the source of their chance.
	webhooks []*WebhookRule
	calls    *clock.Keyed
	streams  map[*stream]struct{}
	// down counts the unfinished calls of Down.
	down int
	up   *inflight.Latch // opened when the server is reachable again
	// attend is called before a fault begins; the result, when it has ended.
	attend func() (end func())
}

// New returns a Faults without rules. The ledger counts dropped watches until they have
// ended.
func New(c clock.Clock, ledger *clock.Ledger, random *clock.Random) *Faults {
	f := &Faults{clock: c, ledger: ledger, random: random, streams: map[*stream]struct{}{}}
	f.settleLocked()
	return f
}

// Attend makes f call attend before a fault begins, and its result when the fault has ended. It must be
// called before any fault begins.
func (f *Faults) Attend(attend func() (end func())) { f.attend = attend }

func (f *Faults) attended() (end func()) {
	if f.attend == nil {
		return func() {}
	}
	return f.attend()
}

// AtRest reports whether no request is delayed, refused or served from a stale cache.
// Watches must be registered with Watching in any case.
func (f *Faults) AtRest() bool { return f.atRest.Load() }

// settleLocked updates atRest.
func (f *Faults) settleLocked() { f.atRest.Store(len(f.rules) == 0 && f.down == 0) }

// Exempt excludes the requests of users from all faults from now on.
func (f *Faults) Exempt(users ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exempt = append(f.exempt, users...)
}

// IsExempt reports whether the requests of a user are exempt.
func (f *Faults) IsExempt(user string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.exempt, user)
}

// Inject applies a rule until remove is called.
func (f *Faults) Inject(rule Rule) (remove func()) { return f.Apply(rule).Remove }

// Applied is a rule that Apply applies.
type Applied struct {
	faults *Faults
	rule   *Rule
	end    func()
}

// Apply applies a rule until Remove is called. A request that waits for the rule's delay goes on then.
func (f *Faults) Apply(rule Rule) *Applied {
	applied := &Applied{f, &rule, f.attended()}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return applied
	}
	rule.delays = inflight.NewDelays(f.clock)
	if len(f.rules) == 0 {
		f.chances = clock.NewKeyed(f.random.Uint64())
	}
	f.rules = append(f.rules, &rule)
	f.settleLocked()
	return applied
}

// Remove ends the effect of the rule.
func (a *Applied) Remove() {
	f := a.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = slices.DeleteFunc(f.rules, func(other *Rule) bool { return other == a.rule })
	f.settleLocked()
	if a.rule.delays != nil {
		f.cutLocked(a.rule.delays)
	}
	a.end()
}

// Met returns how many requests the rule has matched, whether it affected them or not.
func (a *Applied) Met() int {
	a.faults.mu.Lock()
	defer a.faults.mu.Unlock()
	return a.rule.met
}

// NeedsNames reports whether a rule matches names, so that the name of an object that is created
// matters.
func (f *Faults) NeedsNames() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.rules, func(r *Rule) bool { return len(r.Names) > 0 })
}

func (f *Faults) cutLocked(delays *inflight.Delays) {
	delays.Cut()
	f.gone = append(slices.DeleteFunc(f.gone, (*inflight.Delays).Idle), delays)
}

// End removes all rules for good, without waiting for the clock: requests that wait for a delay
// go on at once, in any order. It is for the end of a cluster, whose clock may move no more.
func (f *Faults) End() {
	f.mu.Lock()
	f.ending = true
	delays := f.gone
	for _, rule := range f.rules {
		delays = append(delays, rule.delays)
	}
	for _, rule := range f.webhooks {
		delays = append(delays, rule.delays)
	}
	f.rules, f.webhooks, f.gone = nil, nil, nil
	f.settleLocked()
	f.mu.Unlock()
	for _, d := range delays {
		d.Release()
	}
}

// Fate is the effect of the rules on one request.
type Fate struct {
	Delays []Delay
	// Refusal is the rule that refuses the request; nil: none.
	Refusal *Rule
	// Behind is the revision to serve the request at; 0: any.
	Behind int64
}

// Delay is the delay of one request by one rule.
type Delay struct {
	by *inflight.Delays
	Of time.Duration
}

// Meet applies the rules to a request. The delays of all matching rules add up; the
// oldest matching rule with a code refuses it.
func (f *Faults) Meet(r *Request) Fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fate Fate
	if slices.Contains(f.exempt, r.User) {
		return fate
	}
	var chance *clock.Random
	for _, rule := range f.rules {
		if !rule.Matches(r) || !rule.counts() {
			continue
		}
		if chance == nil && (rule.Share > 0 || rule.Jitter > 0) {
			chance = f.chances.For(r.User, r.UserAgent, r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, r.Name)
		}
		if rule.Share > 0 && chance.Float64() >= rule.Share {
			continue
		}
		delay := rule.Latency
		if rule.Jitter > 0 {
			delay += time.Duration(chance.Float64() * float64(rule.Jitter))
		}
		if delay > 0 {
			fate.Delays = append(fate.Delays, Delay{rule.delays, delay})
		}
		if rule.refuses() && fate.Refusal == nil {
			fate.Refusal = rule
		}
		fate.Behind = max(fate.Behind, rule.Behind)
	}
	return fate
}

// Wait waits for the delays of a request, in cluster time, or until ctx ends.
func (fate *Fate) Wait(ctx context.Context) error {
	for _, d := range fate.Delays {
		if err := d.by.Sleep(ctx, d.Of); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits in cluster time.
func (f *Faults) Sleep(ctx context.Context, d time.Duration) error {
	return inflight.Sleep(ctx, f.clock, d)
}
