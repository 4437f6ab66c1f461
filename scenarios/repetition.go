package scenarios

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/check"
)

// repetition is an outermost repeat. It keeps the views that its steps follow.
type repetition struct {
	// follow begins to follow a query, for a branch.
	follow func(b *branch, q check.Query) (*check.View, error)

	mu    sync.Mutex // the views', too
	views map[check.Query]*check.View
}

// repeating begins a repetition, unless the branch is in one. It ends with over.
func (b *branch) repeating(ctx context.Context) (repeated context.Context, over func()) {
	if b.repeats != nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &repetition{views: map[check.Query]*check.View{}}
	r.follow = func(b *branch, q check.Query) (*check.View, error) {
		return b.run.follower.Follow(inflight.WithPauser(ctx, b.Gate), q, &r.mu, nil)
	}
	b.repeats = r
	return ctx, func() {
		b.repeats = nil
		cancel()
	}
}

// current returns the objects that match q now, by namespace and name. In a repetition it
// follows them instead of listing them at each turn, provided that work takes turns: only
// then does a view show everything that has been done.
func (b *branch) current(ctx context.Context, q check.Query) ([]metav1.Object, error) {
	if b.repeats == nil || !b.run.ledger.TakesTurns() {
		return b.run.follower.List(ctx, q)
	}
	view, err := b.repeats.view(b, q)
	if err != nil {
		return nil, err
	}
	if err := b.Yield(ctx); err != nil {
		return nil, err
	}
	b.repeats.mu.Lock()
	defer b.repeats.mu.Unlock()
	return slices.Clone(view.Metas()), nil
}

func (r *repetition) view(b *branch, q check.Query) (*check.View, error) {
	r.mu.Lock()
	view := r.views[q]
	r.mu.Unlock()
	if view != nil {
		return view, nil
	}
	view, err := r.follow(b, q)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.views[q] = view
	r.mu.Unlock()
	return view, nil
}
