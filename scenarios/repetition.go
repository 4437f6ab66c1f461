package scenarios

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios/check"
)

// repetition is an outermost repeat, and what its steps follow as long as it lasts.
type repetition struct {
	// ctx ends with it.
	ctx context.Context

	mu    sync.Mutex
	views map[check.Query]*check.View
}

// repeating begins a repetition, unless the branch is in one. It ends with over.
func (b *branch) repeating(ctx context.Context) (repeated context.Context, over func()) {
	if b.repeats != nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	b.repeats = &repetition{ctx: clock.Pausing(ctx, b.run.ledger, clock.Action), views: map[check.Query]*check.View{}}
	return ctx, func() {
		b.repeats = nil
		cancel()
	}
}

// current are the objects that match q now, by namespace and name. In a repetition they
// are followed, and not listed at each turn. Only where work takes turns is it known
// that a view shows all that has been done.
func (b *branch) current(ctx context.Context, q check.Query) ([]metav1.Object, error) {
	if b.repeats == nil || !b.run.ledger.TakesTurns() {
		return b.run.follower.List(ctx, q)
	}
	view, err := b.repeats.follow(b.run.follower, q)
	if err != nil {
		return nil, err
	}
	b.yield()
	b.repeats.mu.Lock()
	defer b.repeats.mu.Unlock()
	return slices.Clone(view.Metas()), nil
}

func (r *repetition) follow(follower *check.Follower, q check.Query) (*check.View, error) {
	r.mu.Lock()
	view := r.views[q]
	r.mu.Unlock()
	if view != nil {
		return view, nil
	}
	view, err := follower.Follow(r.ctx, q, &r.mu, nil)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.views[q] = view
	r.mu.Unlock()
	return view, nil
}
