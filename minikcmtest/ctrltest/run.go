package ctrltest

import (
	"context"
	"errors"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// errLost is the error of a manager that lost its lease. The text is controller-runtime's.
var errLost = errors.New("leader election lost")

// run runs a manager together with its event recorder and its leader election.
func (w *world) run(ctx context.Context, inner manager.Manager) error {
	var own token
	if !w.starting.start(&own) {
		return errors.New("manager already started")
	}
	defer w.starting.end(&own)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	recording, stopRecording := context.WithCancel(context.WithoutCancel(ctx))
	var recorder, candidacy sync.WaitGroup
	ended := make(chan struct{})                          // closed when the runnables have ended
	recorder.Go(func() { _ = w.recorder.Run(recording) }) // always returns nil
	candidacy.Go(func() {
		select {
		case <-inner.Elected(): // inner has no election: all runnables are started
		case <-ctx.Done():
			return
		}
		if w.election == nil {
			w.starting.end(&own)
			return
		}
		w.election.Join()
		w.starting.end(&own)
		if stopping := w.election.Hold(ctx, w.starting.lead); stopping != nil {
			cancel(errLost)
			<-ended
			stopping.End()
		}
	})
	err := inner.Start(ctx)
	close(ended)
	lost := errors.Is(context.Cause(ctx), errLost)
	cancel(nil)
	candidacy.Wait()
	if w.election != nil && !lost && w.releases {
		w.election.Release()
	}
	stopRecording()
	recorder.Wait()
	if err == nil && lost {
		err = errLost
	}
	return err
}
