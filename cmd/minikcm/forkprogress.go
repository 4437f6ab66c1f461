package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/capacity"
)

// forkProgress shows the progress of a question about a fork, from its start on. Its methods must not be
// called concurrently.
type forkProgress struct {
	cmd *cobra.Command
	// elapsed is the time since the command started: a command that is over before progressAfter shows nothing.
	elapsed func() time.Duration
	hide    func()
}

// newForkProgress shows that the cluster's state is being read.
func newForkProgress(cmd *cobra.Command) *forkProgress {
	p := &forkProgress{cmd: cmd, elapsed: clock.Stopwatch(), hide: func() {}}
	p.show(doing("Reading the state of the cluster"))
	return p
}

// forking shows that the fork starts. The result is its Options.Starting.
func (p *forkProgress) forking() func(ready, nodes int) {
	s := &starting{doing: "Forking the cluster"}
	p.show(s.text)
	return s.count
}

// following shows how much time has passed in the fork.
func (p *forkProgress) following(fork *capacity.Fork) {
	p.show(func(_ context.Context, elapsed time.Duration) string { return followed(fork.Passed(), elapsed) })
}

func followed(passed, elapsed time.Duration) string {
	return fmt.Sprintf("Following the fork: %v of its time have passed (%v)", passed.Round(time.Second), elapsed.Round(time.Second))
}

func (p *forkProgress) show(text progressText) {
	p.hide()
	p.hide = showProgressSince(p.cmd.Context(), p.cmd.ErrOrStderr(), p.elapsed, text)
}

// end clears the line. Others may write afterwards.
func (p *forkProgress) end() { p.hide() }
