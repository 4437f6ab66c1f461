package check

import (
	"context"
	"errors"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Reacher answers whether connections arrive.
type Reacher interface {
	// FollowReach returns a function that answers a question, and calls changed after each change on which the answer may depend, until
	// ctx ends. The error of the function is a *reach.InvalidError or a *reach.NotFoundError for a question that has no answer.
	FollowReach(ctx context.Context, ask *reach.Ask, changed func()) (answer func(context.Context) (*reach.Report, error), err error)
}

// errNoReacher refuses a check that only a cluster of minikcm can make.
var errNoReacher = errors.New("whether a connection arrives is only known in a cluster of minikcm")

// reachable follows the connections that an expectation names.
func (c *Cluster) reachable(ctx context.Context, e *spec.Expect, x *Expectation, changed func()) error {
	if len(e.Reachable) > 0 && c.Reacher == nil {
		return errNoReacher
	}
	for i := range e.Reachable {
		r := &e.Reachable[i]
		answer, err := c.Reacher.FollowReach(ctx, r.Ask(c.Kinds.Namespace), func() {
			if changed != nil {
				x.mu.Lock()
				defer x.mu.Unlock()
				changed()
			}
		})
		if err != nil {
			return err
		}
		x.clauses = append(x.clauses, func(ctx context.Context) error { return reached(ctx, r, answer) })
	}
	return nil
}

// reached returns a *Differs unless the answer is as expected. What does not exist may be made yet.
func reached(ctx context.Context, r *spec.Reachable, answer func(context.Context) (*reach.Report, error)) error {
	report, err := answer(ctx)
	var missing *reach.NotFoundError
	switch {
	case errors.As(err, &missing):
		return &Differs{Text: r.Title() + ": " + missing.Error()}
	case err != nil:
		return err
	}
	if text, steps := r.Differs(report); text != "" {
		return &Differs{Text: text, Diff: steps}
	}
	return nil
}
