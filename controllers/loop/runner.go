package loop

import (
	"context"

	"k8s.io/klog/v2"
)

// Runner is a controller's loop, or what stands for it where the controller has
// nothing to work with, a key for one: it says so, and waits.
type Runner struct {
	loop      *Loop
	logger    klog.Logger
	name, why string
}

// Runs returns a runner of the loop.
func Runs(l *Loop) Runner { return Runner{loop: l} }

// Idles returns a runner that logs, when it is run, why the controller of that name
// does nothing.
func Idles(logger klog.Logger, name, why string) Runner {
	return Runner{logger: logger, name: name, why: why}
}

// Run works, or waits, until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	if r.loop == nil {
		r.logger.Info(r.why, "controller", r.name)
		<-ctx.Done()
		return nil
	}
	return r.loop.Run(ctx)
}

// Stats returns what the loop has done so far: nothing, if there is none.
func (r *Runner) Stats() Stats {
	if r.loop == nil {
		return Stats{}
	}
	return r.loop.Stats()
}
