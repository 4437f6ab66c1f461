package scenarios

import (
	"context"
	"errors"
	"slices"

	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

func checkFault(f *fault.Fault, c *spec.Checker) {
	for _, problem := range f.Validate() {
		c.ProblemAt(problem.Line, problem.Field, "%s", problem.Message)
	}
	if f.Endless() && !c.Step.Background {
		c.Problem("", "happens again and again to the end of the scenario: give it times or during, or the step background: true")
	}
}

func faultItself(f *fault.Fault) []*fault.Fault { return []*fault.Fault{f} }

// faultPossible refuses faults that a foreign cluster does not support. A running cluster answers
// for itself.
func faultPossible(f *fault.Fault, place Place) (field string, err error) {
	if place != ForeignCluster {
		return "", nil
	}
	return "", f.Possible(&fault.Env{})
}

// fault injects a fault after the events of the steps before it are delivered. Otherwise the
// fault would race with them: a watch that ends before it delivers a change resumes at another
// revision than one that ends after it.
func (b *branch) fault(ctx context.Context, f *fault.Fault) error {
	if err := b.Yield(ctx); err != nil {
		return err
	}
	if b.run.faults != nil {
		return b.faultElsewhere(ctx, f)
	}
	env := fault.Env{
		Cluster: b.run.cluster, Client: b.run.client, Dynamic: b.run.dynamic, Clock: b.run.clock,
		Random: b.random, Note: b.note, Defer: b.run.later, Exempt: []string{User}, Namespace: b.run.kinds.Default,
	}
	if b.background != "" && f.For > 0 {
		env.Defer = nil // it lasts as long as it says, and nothing waits for it
	}
	if b.run.opts.Faults != nil {
		return b.run.opts.Faults.Run(ctx, f, User, env)
	}
	return f.Run(ctx, env)
}

// later keeps the function that takes back a fault which lasts to the end of the steps.
func (r *run) later(takeBack func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deferred = append(r.deferred, takeBack)
}

// takeBack takes back the faults that still last, the newest first.
func (r *run) takeBack(ctx context.Context) error {
	r.mu.Lock()
	deferred := r.deferred
	r.deferred = nil
	r.mu.Unlock()
	var errs []error
	for _, undo := range slices.Backward(deferred) {
		errs = append(errs, fault.Retake(ctx, r.clock, fault.RetakeLimit, undo))
	}
	return errors.Join(errs...)
}
