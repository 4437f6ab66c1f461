package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/clockapi"
)

func newClock() *cobra.Command {
	var flags clockFlags
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Show or control the clock of a running cluster",
		Long: `Show the clock of the cluster that "minikcm up" runs: its mode and speed, its time, when its
next timer is due, and the work for which its time stands still.

The subcommands control the clock of a cluster that was started with --clock=virtual. Its
time passes only while nothing is in flight, so that every timer fires at its due time and no
deadline is missed at any speed. Each command prints the state of the clock afterwards.`,
		Example: `  minikcm clock
  minikcm clock pause
  minikcm clock advance 24h
  minikcm clock -o json`,
		Args: aCommand,
		RunE: flags.run((*clockapi.Client).Get),
	}
	cmd.PersistentFlags().StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.PersistentFlags().StringVarP(&flags.output, "output", "o", "", "output format: json (default text)")
	cmd.AddCommand(
		newClockPause(&flags),
		&cobra.Command{
			Use: "resume", Short: "Let time pass again", Long: `Let time pass again after "minikcm clock pause", at the speed that the clock had.`,
			Args: noArgs, RunE: flags.run((*clockapi.Client).Resume),
		},
		&cobra.Command{
			Use:   "step",
			Short: "Move the clock to its next timer",
			Long: `Move the clock to its next timer, and wait until the work that this timer starts is done. Use
it on a paused clock. After "minikcm clock pause --work", do the next piece of work that waits
instead, and move the clock only if none waits.`,
			Args: noArgs, RunE: flags.run((*clockapi.Client).Step),
		},
		newClockSpeed(&flags), newClockAdvance(&flags),
	)
	return cmd
}

func newClockPause(flags *clockFlags) *cobra.Command {
	work := false
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Make time stand still",
		Long: `Make time stand still until "minikcm clock resume". The cluster still serves requests, and
its controllers and nodes react to them; no timer fires. "minikcm clock advance" and "minikcm
clock step" move a paused clock.

With --work, the work stands still, too: requests are served and their events reach the caches,
but the key that an event adds to a controller's queue, the next pod of the scheduler and the
action of a node wait for "minikcm clock step". Each step does one of them.`,
		Example: `  minikcm clock pause
  minikcm clock pause --work && kubectl scale deployment web --replicas 3 && minikcm clock step`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if work {
				return flags.run((*clockapi.Client).PauseWork)(cmd, args)
			}
			return flags.run((*clockapi.Client).Pause)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&work, "work", false, "also pause the cluster's work, of which each step does one piece")
	return cmd
}

func newClockSpeed(flags *clockFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "speed N",
		Short: "Set the speed of the clock",
		Long: `Set the speed of the clock as a multiple of the machine's time: 10 lets 10 seconds pass in
one. If the cluster's work takes longer than its time at that speed, the clock runs slower. A
paused clock stays paused.`,
		Example: `  minikcm clock speed 100
  minikcm clock speed 0.5`,
		Args: oneArg("a speed"),
		RunE: func(cmd *cobra.Command, args []string) error {
			speed, err := strconv.ParseFloat(strings.TrimSuffix(args[0], "x"), 64)
			if err != nil {
				return badInput{fmt.Errorf("the speed %q is not a number, such as 10", args[0])}
			}
			if err := clock.ValidateSpeed(speed); err != nil {
				return badInput{err}
			}
			return flags.run(func(c *clockapi.Client, ctx context.Context) (*clockapi.State, error) {
				return c.SetSpeed(ctx, speed)
			})(cmd, args)
		},
	}
}

func newClockAdvance(flags *clockFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "advance DURATION",
		Short: "Move the clock by a duration",
		Long: `Move the clock by a duration, as fast as the cluster's work allows, and wait until all work
that was due by then is done. If the command is interrupted, the clock stays where it is.`,
		Example: `  minikcm clock advance 24h
  minikcm clock advance 1m30s`,
		Args: oneArg("a duration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := time.ParseDuration(args[0])
			if err != nil {
				return badInput{fmt.Errorf("the duration %q is not one such as 90s or 24h", args[0])}
			}
			if d < 0 {
				return badInput{fmt.Errorf("the duration %s is negative: time does not go back", d)}
			}
			return flags.run(func(c *clockapi.Client, ctx context.Context) (*clockapi.State, error) {
				defer showProgress(ctx, cmd.ErrOrStderr(), advancing(ctx, c, d))()
				return c.Advance(ctx, d)
			})(cmd, args)
		},
	}
}

// advancing returns the text of the progress of Advance by d: how much of it has passed.
func advancing(ctx context.Context, c *clockapi.Client, d time.Duration) func(context.Context, time.Duration) string {
	begin, err := c.Get(ctx)
	if err != nil {
		return doing(fmt.Sprintf("Advancing by %v", d))
	}
	return func(ctx context.Context, elapsed time.Duration) string {
		state, err := c.Get(ctx)
		if err != nil {
			return fmt.Sprintf("Advancing by %v (%v)", d, elapsed.Round(time.Second))
		}
		passed := state.Now.Sub(begin.Now)
		return fmt.Sprintf("Advancing by %v: %v have passed, %d%% (%v)", d, passed.Round(time.Second), 100*passed/max(d, 1), elapsed.Round(time.Second))
	}
}

// clockFlags are the flags of "minikcm clock" and its subcommands.
type clockFlags struct{ kubeconfig, output string }

// run returns the function of a command that makes a request and prints the state that it
// returns.
func (f *clockFlags) run(request func(*clockapi.Client, context.Context) (*clockapi.State, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if f.output != "" && f.output != "json" {
			return badInput{fmt.Errorf("--output=%s: must be json, or omitted", f.output)}
		}
		config, client, err := clusterOf(cmd.Context(), f.kubeconfig)
		if err != nil {
			return err
		}
		state, err := request(clockapi.NewClient(client.Discovery().RESTClient()), cmd.Context())
		switch {
		case err != nil && cmd.Context().Err() != nil:
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "Interrupted: the clock stays where it is.")
			return exitCode(interrupted)
		case apierrors.IsConflict(err):
			return fmt.Errorf("%w\n%s", err, howVirtual(config.Host))
		case err != nil:
			return err
		}
		if f.output == "json" {
			return printJSON(cmd.OutOrStdout(), state)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), clockText(state))
		return err
	}
}

// howVirtual says how to get a cluster whose clock can be controlled, and which of the running ones
// has such a clock. server is the cluster that has none.
func howVirtual(server string) string {
	running, _ := runningClusters() // without a registry, none is known
	for i := range running {
		if c := &running[i]; c.isVirtual() && c.Server != server {
			return fmt.Sprintf("The cluster %s has a virtual clock: name it with --kubeconfig %s.", c.Name, c.Name)
		}
	}
	return "\"minikcm up --name b -d --clock virtual\" starts a cluster with one, which --kubeconfig b selects. The clock of a running cluster cannot be replaced."
}

// clockText formats the state of a clock in one line.
func clockText(state *clockapi.State) string {
	text := atClock(&state.ClockInfo)
	if state.NextTimer != nil {
		text += fmt.Sprintf(", next timer in %v", state.NextTimer.Sub(state.Now).Round(time.Millisecond))
	}
	if state.Waiting > 0 {
		return text + fmt.Sprintf(", waiting for steps: %d, next: %s", state.Waiting, state.NextStep)
	}
	if state.InFlight != "" {
		text += ", in flight: " + state.InFlight
	}
	return text
}
