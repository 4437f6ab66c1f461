package scenarios

import (
	"context"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

func sleepTitle(d *spec.Duration) string   { return "sleep " + time.Duration(*d).String() }
func advanceTitle(d *spec.Duration) string { return "advance " + time.Duration(*d).String() }

func sleepTime(d *spec.Duration) time.Duration { return time.Duration(*d) }

func (b *branch) sleepStep(ctx context.Context, d *spec.Duration) error {
	return b.sleep(ctx, time.Duration(*d))
}

// sleep returns when d of the cluster's time has passed, or with the cause of ctx's end.
func (b *branch) sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	timer := b.run.clock.AfterFunc(d, func() {
		close(over)
		b.Raise()
	})
	defer timer.Stop()
	for {
		select {
		case <-over:
			return nil
		default:
		}
		if err := b.Wait(ctx); err != nil {
			return err
		}
	}
}
