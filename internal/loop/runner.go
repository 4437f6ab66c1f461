package loop

import (
	"context"

	"k8s.io/klog/v2"
)

// Runner runs a controller's loop. If the controller lacks something that it needs, such as a
// signing key, the Runner logs that instead and waits.
type Runner struct {
	loop      Loop
	logger    klog.Logger
	name, why string
}

// Runs returns a runner of the loop.
func Runs(l Loop) Runner { return Runner{loop: l} }

// Idles returns a runner without a loop, which logs why the controller does nothing.
func Idles(logger klog.Logger, name, why string) Runner {
	return Runner{logger: logger, name: name, why: why}
}

// Run runs the loop, if there is one, until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	if r.loop == nil {
		r.logger.Info(r.why, "controller", r.name)
		<-ctx.Done()
		return nil
	}
	return r.loop.Run(ctx)
}

// Stats returns the counters of the loop; zero without a loop.
func (r *Runner) Stats() Stats {
	if r.loop == nil {
		return Stats{}
	}
	return r.loop.Stats()
}
