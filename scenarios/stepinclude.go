package scenarios

import (
	"context"
	"time"

	"minikcm.dev/minikcm/scenarios/format"
)

// Include does the steps of another file, of a document of kind Steps.
type Include struct {
	File string            `yaml:"file"`
	Vars map[string]string `yaml:"vars"`

	included []format.Step
}

func (i *Include) check(c *format.Checker) { i.included = c.Include(i.File, i.Vars) }

func (i *Include) title() string { return "include " + i.File }

func (i *Include) steps() [][]format.Step { return [][]format.Step{i.included} }

func (i *Include) least() time.Duration { return format.LeastTime(i.included) }

func (b *branch) include(ctx context.Context, i *Include) error { return b.steps(ctx, i.included) }
