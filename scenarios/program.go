package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/processgroup"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// pace is the interval, by the machine's clock, at which virtual time moves on while another
// program runs.
const pace = 20 * time.Millisecond

// defaultSpeed is the factor by which a virtual clock runs faster than the machine's beside another
// program.
const defaultSpeed = 10

func checkSpeed(c *spec.Checker, speed **int) {
	if *speed == nil {
		*speed = ptr.To(defaultSpeed)
	}
	if **speed < 1 {
		c.Problem("speed", "must be at least 1: %d", **speed)
	}
}

// program holds the options of another program that runs beside the cluster.
type program struct {
	// speed is the factor by which a virtual clock runs faster than the machine's meanwhile.
	speed int
	// patience is the time, by the machine's clock, that a virtual clock stands still first: a
	// program that ends before takes no time of the cluster, so that the run can be repeated.
	patience time.Duration
	output   []string
	fails    bool
}

// command runs another program to its end, and notes each line of its output as it is printed.
func (b *branch) command(ctx context.Context, cmd *exec.Cmd, p program) error {
	out := &noted{note: b.programPrinted}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(cmd.Env, "KUBECONFIG="+b.run.kubeconfig)
	// Children that the program leaves running are not waited for. They end with the run.
	cmd.WaitDelay = time.Second
	processgroup.Lead(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := b.alongside(ctx, ended, p)
	b.run.programEnded(cmd, ctx.Err() != nil)
	out.end()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.fails && errors.As(err, &exit):
	case p.fails && err == nil:
		return errors.New("it should have failed, and did not")
	case err != nil:
		return fmt.Errorf("it failed (%w): %s", err, strings.TrimSpace(out.text.String()))
	}
	for _, text := range p.output {
		if !strings.Contains(out.text.String(), text) {
			return fmt.Errorf("its output has no %q:\n%s", text, strings.TrimSpace(out.text.String()))
		}
	}
	return nil
}

// programPrinted notes a line of a program, and wakes the step that waits for it.
func (b *branch) programPrinted(line string) {
	b.note("%s", line)
	if b.background == "" {
		return
	}
	defer inflight.Begin(b.run.ledger, inflight.Action).End()
	b.run.outputOf(b.background).add(line)
}

// noted keeps what is written to it, and passes each line to note when it is complete. One
// goroutine writes to it, which has ended when cmd.Wait returns.
type noted struct {
	text bytes.Buffer
	note func(line string)
	// seen is the number of bytes in the lines that were passed on.
	seen int
}

func (n *noted) Write(p []byte) (int, error) {
	written, err := n.text.Write(p)
	for {
		end := bytes.IndexByte(n.text.Bytes()[n.seen:], '\n')
		if end < 0 {
			return written, err
		}
		n.pass(end + 1)
	}
}

// end passes on a last line that has no end.
func (n *noted) end() {
	if size := n.text.Len() - n.seen; size > 0 {
		n.pass(size)
	}
}

func (n *noted) pass(size int) {
	line := string(n.text.Bytes()[n.seen : n.seen+size])
	n.seen += size
	n.note(strings.TrimRight(line, "\r\n"))
}

// programEnded kills the processes that a canceled program has left behind. It only records the
// process group of any other program: a script may start a server for the steps after it.
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

// endPrograms kills the processes that the run's programs have left behind.
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
func (b *branch) alongside(ctx context.Context, ended <-chan error, p program) error {
	if b.run.cluster == nil || !isVirtual(b.run.clock) {
		return <-ended
	}
	if p.patience == 0 {
		b.notReproducible()
	}
	elapsed := clock.Stopwatch()
	ticker := clock.Real().NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C():
			if ctx.Err() == nil && elapsed() < p.patience {
				continue
			}
			b.notReproducible()
			if b.sleep(ctx, pace*time.Duration(p.speed)) != nil {
				return <-ended // it is ended too
			}
		}
	}
}

// notReproducible records that another run with the same seed may differ from the present step on: the
// machine's speed decides how much of the cluster's time a program takes.
func (b *branch) notReproducible() {
	b.run.recorder.NotReproducible(fmt.Sprintf("%s (%s)", b.number, cmp.Or(b.background, b.title)))
}

func isVirtual(c clock.Clock) bool {
	_, virtual := c.(*clock.Virtual)
	return virtual
}
