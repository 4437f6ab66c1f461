package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/processgroup"
	"minikcm.dev/minikcm/scenarios/spec"
)

// pace is how often virtual time moves on while another program runs, by the machine's
// clock.
const pace = 20 * time.Millisecond

// defaultSpeed is how many times faster than the machine's clock a virtual one runs beside
// another program.
const defaultSpeed = 10

func checkSpeed(c *spec.Checker, speed **int) {
	if *speed == nil {
		*speed = ptr.To(defaultSpeed)
	}
	if **speed < 1 {
		c.Problem("speed", "must be at least 1: %d", **speed)
	}
}

// command runs another program to its end, and notes its output.
func (b *branch) command(ctx context.Context, cmd *exec.Cmd, speed int, output []string, fails bool) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(cmd.Env, "KUBECONFIG="+b.run.kubeconfig)
	// Children that the program leaves running are not waited for. They end with the run.
	cmd.WaitDelay = time.Second
	processgroup.Lead(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := b.alongside(ctx, ended, speed)
	b.run.programEnded(cmd, ctx.Err() != nil)
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

// programEnded kills the processes that a canceled program has left behind, and notes those of
// any other program: a script may start a server for the steps after it.
func (r *run) programEnded(cmd *exec.Cmd, canceled bool) {
	switch {
	case canceled:
		processgroup.End(cmd.Process.Pid)
	case processgroup.Left(cmd):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leftBehind = append(r.leftBehind, cmd.Process.Pid)
	}
}

// endPrograms kills what the run's programs have left behind.
func (r *run) endPrograms() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, leader := range r.leftBehind {
		processgroup.End(leader)
	}
	r.leftBehind = nil
}

// alongside lets the cluster's time run while another program runs, since the ledger does not
// show what that program waits for. It returns the program's error.
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
