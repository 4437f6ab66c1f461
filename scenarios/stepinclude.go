package scenarios

import (
	"context"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Include does the steps of another file, of a document of kind Steps.
type Include struct {
	File string            `yaml:"file"`
	Vars map[string]string `yaml:"vars"`

	included []spec.Step
}

func (i *Include) check(c *spec.Checker) { i.included = c.Include(i.File, i.Vars) }

func (i *Include) title() string { return "include " + i.File }

func (i *Include) steps() [][]spec.Step { return [][]spec.Step{i.included} }

func (i *Include) least() time.Duration { return spec.LeastTime(i.included) }

func (b *branch) include(ctx context.Context, i *Include) error { return b.steps(ctx, i.included) }
