package scenarios

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"strings"

	"minikcm.dev/minikcm/scenarios/format"
)

// Script is a shell command, with KUBECONFIG set to the cluster, and the variables in
// its environment.
type Script struct {
	// Run is given to sh -eu.
	Run string `yaml:"run"`
	// Dir is where it runs; default the scenario's folder.
	Dir string `yaml:"dir"`
	// Env is added to the environment.
	Env map[string]string `yaml:"env"`
	// Speed is how many times faster than the machine's a virtual clock runs
	// meanwhile; default 10.
	Speed *int `yaml:"speed"`
	// Output must contain these texts.
	Output []string `yaml:"output"`
	// Fails says that it must end with an exit code other than 0.
	Fails bool `yaml:"fails"`
}

func (s *Script) check(c *format.Checker) {
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

func (s *Script) title() string { return "script " + format.FirstLine(s.Run) }

func (b *branch) script(ctx context.Context, s *Script) error {
	cmd := exec.CommandContext(ctx, "sh", "-euc", s.Run) // running it is what was asked for
	cmd.Dir = s.Dir
	cmd.Env = os.Environ()
	for _, name := range sortedKeys(s.Env) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	return b.command(ctx, cmd, *s.Speed, s.Output, s.Fails)
}
