package scenarios

import (
	"context"
	"os"
	"os/exec"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Example runs a program of the module examples in a process of its own. It ends by itself or,
// in the background, with the scenario.
type Example struct {
	// Program is the program's name, such as podinformer.
	Program string `yaml:"program"`
	// Speed, Output and Fails are as of a script.
	Speed  *int     `yaml:"speed"`
	Output []string `yaml:"output"`
	Fails  bool     `yaml:"fails"`
}

func (e *Example) check(c *spec.Checker) {
	if e.Program == "" {
		c.Problem("program", "is missing, such as podinformer")
	}
	checkSpeed(c, &e.Speed)
}

func (e *Example) title() string { return "example " + e.Program }

// Examples returns the names of the examples that a scenario runs.
func Examples(s *Scenario) []string {
	names := map[string]bool{}
	walk(s, func(step *spec.Step) {
		if e, ok := step.Value.(*Example); ok {
			names[e.Program] = true
		}
	})
	return sortedKeys(names)
}

func (b *branch) example(ctx context.Context, e *Example) error {
	command := []string{"minikcm", "example", e.Program}
	if b.run.opts.Example != nil {
		command = b.run.opts.Example(e.Program)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) // the scenario asks to run it
	cmd.Env = os.Environ()
	return b.command(ctx, cmd, program{speed: *e.Speed, output: e.Output, fails: e.Fails})
}
