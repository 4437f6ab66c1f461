package scenarios

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Kubectl runs the built-in kubectl in a process of its own. A virtual clock stands still meanwhile,
// unless kubectl waits for something.
type Kubectl struct {
	// Args are the arguments, without kubectl itself.
	Args []string `yaml:"args"`
	// Stdin is its standard input.
	Stdin string `yaml:"stdin"`
	// Speed, Output and Fails are as of a script.
	Speed  *int     `yaml:"speed"`
	Output []string `yaml:"output"`
	Fails  bool     `yaml:"fails"`
}

func (k *Kubectl) check(c *spec.Checker) {
	if len(k.Args) == 0 {
		c.Problem("args", "is missing, such as [get, pods]")
	} else if k.Args[0] == "kubectl" {
		c.Problem("args", "are the arguments alone: leave out kubectl")
	}
	checkSpeed(c, &k.Speed)
}

func (k *Kubectl) title() string { return "kubectl " + strings.Join(k.Args, " ") }

// kubectl runs after all other work of this instant, such as a fault in the background: what kubectl reads
// does not depend on the machine's speed.
func (b *branch) kubectl(ctx context.Context, k *Kubectl) error {
	if err := b.settled(ctx); err != nil {
		return err
	}
	command := b.run.opts.Kubectl
	if len(command) == 0 {
		command = []string{"kubectl"}
	}
	args := slices.Clone(command[1:])
	if b.run.cluster == nil && b.run.kubeconfig != "" { // the built-in one takes no other cluster's from KUBECONFIG
		args = append(args, "--kubeconfig", b.run.kubeconfig)
	}
	args = append(args, k.Args...)
	cmd := exec.CommandContext(ctx, command[0], args...) // the scenario asks to run it
	cmd.Env = os.Environ()
	cmd.Stdin = strings.NewReader(k.Stdin)
	return b.command(ctx, cmd, program{speed: *k.Speed, patience: k.patience(), output: k.Output, fails: k.Fails})
}

// The times, by the machine's clock, that a virtual clock stands still for kubectl: for commands that
// wait for the cluster, and for all others, which wait only if a fault delays their requests.
const (
	patienceWaiting = 300 * time.Millisecond
	patienceOthers  = 5 * time.Second
)

func (k *Kubectl) patience() time.Duration {
	if k.waits() {
		return patienceWaiting
	}
	return patienceOthers
}

// waits reports whether the command may wait for the cluster.
func (k *Kubectl) waits() bool {
	var words, flags []string
	for _, arg := range k.Args {
		switch {
		case arg == "--":
			continue
		case strings.HasPrefix(arg, "-"):
			flag, value, _ := strings.Cut(arg, "=")
			if value != "false" {
				flags = append(flags, flag)
			}
			if flag == "--wait" && value == "false" {
				flags = append(flags, "--no-wait")
			}
		default:
			words = append(words, arg)
		}
	}
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(flag string) bool { return slices.Contains(flags, flag) })
	}
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "wait", "drain", "attach", "cp", "debug", "exec", "port-forward", "proxy", "run":
		return words[0] != "run" || has("-i", "--stdin", "-it", "-ti", "--attach", "--rm")
	case "rollout":
		return slices.Contains(words, "status")
	case "delete":
		return !has("--no-wait")
	case "get", "events":
		return has("-w", "--watch", "--watch-only")
	case "logs", "log":
		return has("-f", "--follow")
	case "apply", "replace", "scale":
		return has("--wait", "--force", "--prune", "--timeout")
	}
	return false
}
