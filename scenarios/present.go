package scenarios

import (
	"context"

	"minikcm.dev/minikcm/scenarios/spec"
)

// present shows the text of a step to the audience, and returns when it has been read. On a
// paced clock, time passes meanwhile, so that the audience sees the cluster at work.
func (b *branch) present(ctx context.Context, step *spec.Step) error {
	show := b.run.opts.Present
	if show == nil || step.Say == "" {
		return nil
	}
	read := make(chan error, 1)
	go func() { read <- show(ctx, step.Say) }()
	cluster := b.run.cluster
	if cluster == nil || !isVirtual(b.run.clock) || cluster.Pacer() == nil {
		b.run.presenting.Store(true) // no progress is expected
		defer b.run.presenting.Store(false)
		return <-read
	}
	pace, _ := cluster.Pacer().Pace()
	return b.alongside(ctx, read, max(1, int(pace.Speed)))
}
