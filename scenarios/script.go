package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios/format"
)

// pace is how often virtual time moves on while another program runs.
const pace = 20 * time.Millisecond

func (b *branch) script(ctx context.Context, s *format.Script) error {
	cmd := exec.CommandContext(ctx, "sh", "-euc", s.Run) // running it is what was asked for
	cmd.Dir = s.Dir
	cmd.Env = os.Environ()
	for _, name := range sortedKeys(s.Env) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	return b.command(ctx, cmd, *s.Speed, s.Output, s.Fails)
}

func (b *branch) kubectl(ctx context.Context, k *format.Kubectl) error {
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

// command runs another program to its end, and keeps what it says.
func (b *branch) command(ctx context.Context, cmd *exec.Cmd, speed int, output []string, fails bool) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(cmd.Env, "KUBECONFIG="+b.run.kubeconfig)
	// What it leaves running must not be waited for.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := b.alongside(ctx, ended, speed)
	for line := range strings.Lines(out.String()) {
		b.note("%s", strings.TrimRight(line, "\n"))
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case fails && errors.As(err, &exit):
	case fails && err == nil:
		return errors.New("it should have failed, and did not")
	case err != nil:
		return fmt.Errorf("it failed (%w): %s", err, strings.TrimSpace(out.String()))
	}
	for _, text := range output {
		if !strings.Contains(out.String(), text) {
			return fmt.Errorf("its output has no %q:\n%s", text, strings.TrimSpace(out.String()))
		}
	}
	return nil
}

// alongside lets the cluster's time run while another program does: a virtual clock
// does not know what that waits for. It returns how the program ended.
func (b *branch) alongside(ctx context.Context, ended <-chan error, speed int) error {
	if b.run.cluster == nil || !isVirtual(b.run.clock) {
		return <-ended
	}
	ticker := clock.Real().NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C():
			if b.sleep(ctx, pace*time.Duration(speed)) != nil {
				return <-ended // it is ended too
			}
		}
	}
}

func isVirtual(c clock.Clock) bool {
	_, virtual := c.(*clock.Virtual)
	return virtual
}
