package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Parallel are steps to do at the same time.
type Parallel []spec.Step

func (p *Parallel) check(c *spec.Checker) {
	if len(*p) == 0 {
		c.Problem("", "is empty")
	}
	c.Steps("", *p)
}

func (p *Parallel) title() string { return fmt.Sprintf("%d things in parallel", len(*p)) }

func (p *Parallel) steps() [][]spec.Step { return [][]spec.Step{*p} }

// least returns the largest of the parallel steps' least times.
func (p *Parallel) least() time.Duration {
	var longest time.Duration
	for i := range *p {
		longest = max(longest, spec.LeastTime((*p)[i:i+1]))
	}
	return longest
}

// parallel does all steps at the same time, and returns when all have ended. The first failure
// ends the others.
func (b *branch) parallel(ctx context.Context, p *Parallel) error {
	steps := *p
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	left := len(steps)
	children := make([]*branch, len(steps))
	for i := range steps {
		children[i] = b.run.branch(b.random.Fork())
		children[i].span, children[i].quiet, children[i].repeats, children[i].background = b.span, b.quiet, b.repeats, b.background
		children[i].title, children[i].number = b.title, b.number
	}
	var failure error
	var all sync.WaitGroup
	for i, child := range children {
		all.Go(func() {
			defer child.leave()
			err := child.Yield(ctx)
			if err == nil {
				err = child.step(ctx, &steps[i])
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failure == nil {
				failure = fmt.Errorf("%s: %w", steps[i].Title(), err)
				cancel()
			}
			left--
			if left == 0 {
				b.Raise()
			}
		})
	}
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	}
	// The children end with ctx, and are waited for all the same.
	for !over() {
		if b.Wait(context.WithoutCancel(ctx)) != nil {
			break // it never ends
		}
	}
	all.Wait()
	for _, child := range children {
		b.notes = append(b.notes, child.notes...)
	}
	return failure
}
