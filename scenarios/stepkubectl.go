package scenarios

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"

	"minikcm.dev/minikcm/scenarios/format"
)

// Kubectl runs kubectl with these arguments: the built-in one, in its own process.
type Kubectl struct {
	// Args are the arguments, without kubectl itself.
	Args []string `yaml:"args"`
	// Stdin is what it reads.
	Stdin string `yaml:"stdin"`
	// Speed, Output and Fails are as of a script.
	Speed  *int     `yaml:"speed"`
	Output []string `yaml:"output"`
	Fails  bool     `yaml:"fails"`
}

func (k *Kubectl) check(c *format.Checker) {
	if len(k.Args) == 0 {
		c.Problem("args", "is missing, such as [get, pods]")
	} else if k.Args[0] == "kubectl" {
		c.Problem("args", "are the arguments alone: leave out kubectl")
	}
	checkSpeed(c, &k.Speed)
}

func (k *Kubectl) title() string { return "kubectl " + strings.Join(k.Args, " ") }

func (b *branch) kubectl(ctx context.Context, k *Kubectl) error {
	command := b.run.opts.Kubectl
	if len(command) == 0 {
		command = []string{"kubectl"}
	}
	args := slices.Clone(command[1:])
	if b.run.cluster == nil && b.run.kubeconfig != "" { // the built-in one takes no other cluster's from KUBECONFIG
		args = append(args, "--kubeconfig", b.run.kubeconfig)
	}
	args = append(args, k.Args...)
	cmd := exec.CommandContext(ctx, command[0], args...) // running it is what was asked for
	cmd.Env = os.Environ()
	cmd.Stdin = strings.NewReader(k.Stdin)
	return b.command(ctx, cmd, *k.Speed, k.Output, k.Fails)
}
