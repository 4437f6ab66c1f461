package env

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Begin starts the recorder, and lets StartInformers start informers. It comes before the
// first copy of the environment. The informers end with ctx. The caller calls end when ctx
// has ended and all users of the environment have returned: it waits for the informers,
// and for the recorder to write its last events. It returns the recorder's error.
func (e *Env) Begin(ctx context.Context) (end func() error) {
	e.informersEnd = ctx.Done()
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	var recorder errgroup.Group
	if e.Recorder != nil {
		recorder.Go(func() error { return e.Recorder.Run(recording) })
	}
	return func() error {
		e.Informers.Shutdown()
		stop()
		if err := recorder.Wait(); err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		return nil
	}
}

// StartInformers starts the requested informers that do not run yet.
func (e *Env) StartInformers() { e.Informers.Start(e.informersEnd) }
