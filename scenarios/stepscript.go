package scenarios

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"strings"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Script is a shell command. Its environment has the variables, and KUBECONFIG for the
// cluster.
type Script struct {
	// Run is the command for sh -eu.
	Run string `yaml:"run"`
	// Dir is its working directory; default the scenario's folder.
	Dir string `yaml:"dir"`
	// Env is added to the environment.
	Env map[string]string `yaml:"env"`
	// Speed is the factor by which a virtual clock runs faster than the machine's meanwhile;
	// default 10.
	Speed *int `yaml:"speed"`
	// Output are texts that the command must print.
	Output []string `yaml:"output"`
	// Fails says that the command must end with an exit code other than 0.
	Fails bool `yaml:"fails"`
}

func (s *Script) check(c *spec.Checker) {
	if strings.TrimSpace(s.Run) == "" {
		c.Problem("run", "is missing: say what to run")
	}
	checkSpeed(c, &s.Speed)
	if s.Dir == "" {
		s.Dir = c.Dir()
	} else {
		s.Dir = c.Folder("dir", s.Dir)
	}
	env := c.Vars()
	maps.Copy(env, s.Env)
	s.Env = env
}

func (s *Script) title() string { return "script " + spec.FirstLine(s.Run) }

func (b *branch) script(ctx context.Context, s *Script) error {
	cmd := exec.CommandContext(ctx, "sh", "-euc", s.Run) // the scenario asks to run it
	cmd.Dir = s.Dir
	cmd.Env = os.Environ()
	for _, name := range sortedKeys(s.Env) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	return b.command(ctx, cmd, program{speed: *s.Speed, output: s.Output, fails: s.Fails})
}
