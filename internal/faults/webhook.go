package faults

import (
	"context"
	"slices"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// WebhookRule is a fault of the admission webhooks that it names.
type WebhookRule struct {
	// Names are the names of webhooks, or of their configurations; empty: all.
	Names []string
	// Share is the fraction of the calls that is affected, in (0, 1]; 0 means all.
	Share float64
	// Latency is added to the duration of a call, in time of the clock. A call that would take
	// longer than the webhook's timeout fails at the timeout.
	Latency time.Duration
	// Err is the error with which calls fail; nil: they do not.
	Err error
	// Denies makes the webhook refuse the request, with Code (default 403) and Message.
	Denies  bool
	Code    int32
	Message string

	clock  clock.Clock
	delays *inflight.Delays
}

// InjectWebhook applies a rule to webhooks until remove is called.
func (f *Faults) InjectWebhook(rule WebhookRule) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return func() {}
	}
	rule.clock, rule.delays = f.clock, inflight.NewDelays(f.clock)
	if len(f.webhooks) == 0 {
		f.calls = clock.NewKeyed(f.random.Uint64())
	}
	f.webhooks = append(f.webhooks, &rule)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.webhooks = slices.DeleteFunc(f.webhooks, func(other *WebhookRule) bool { return other == &rule })
		f.cutLocked(rule.delays)
	}
}

// MeetWebhook returns the rules that apply to a call of a webhook for a user, the oldest first.
func (f *Faults) MeetWebhook(user, configuration, webhook string) []*WebhookRule {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.exempt, user) {
		return nil
	}
	var met []*WebhookRule
	for _, rule := range f.webhooks {
		named := len(rule.Names) == 0 || slices.Contains(rule.Names, configuration) || slices.Contains(rule.Names, webhook)
		if named && (rule.Share <= 0 || f.calls.For(user, configuration, webhook).Float64() < rule.Share) {
			met = append(met, rule)
		}
	}
	return met
}

// Wait waits for the delay of a call, or for limit if that is shorter. It returns the error of ctx,
// and reports whether the limit was reached while the rule applied.
func (r *WebhookRule) Wait(ctx context.Context, limit time.Duration) (late bool, err error) {
	begun := r.clock.Now()
	err = r.delays.Sleep(ctx, min(r.Latency, limit))
	return err == nil && r.clock.Since(begun) >= limit, err
}
