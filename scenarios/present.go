package scenarios

import (
	"context"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// present shows the text of a step to the audience, and returns when it has been read. The
// branch stays in flight, so that virtual time stands still.
func (b *branch) present(ctx context.Context, step *spec.Step) error {
	if b.run.opts.Present == nil || step.Say == "" {
		return nil
	}
	b.run.presenting.Store(true)
	defer b.run.presenting.Store(false)
	return b.run.opts.Present(ctx, step.Say)
}
