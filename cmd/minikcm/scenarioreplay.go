package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/runrecord"
)

func newScenarioReplay() *cobra.Command {
	f := &scenarioFlags{parallel: 1, repeat: 1}
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Run a saved run again, and say whether it went the same way",
		Long: `replay runs the scenario of a saved run again, with its seed, its clock and its
values, and compares both courses of events. It tells where they part, if they do: the
order of what happens at one instant is left open, as are revisions. The exit code is
that of the scenario, as with run; that the courses part is told, and is no failure.`,
		Example: `  minikcm scenario run ./my-scenario.yaml --seed 7 --json run.json
  minikcm scenario replay run.json`,
		Args: oneArg("a saved run: its file, or the folder that it is in"),
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := runrecord.Load(args[0])
			if err != nil {
				return badInput{err}
			}
			return replay(cmd.Context(), cmd.OutOrStdout(), saved, f)
		},
	}
	cmd.Flags().BoolVar(&f.timeline, "timeline", false, "print the whole timeline")
	cmd.Flags().BoolVar(&f.noColor, "no-color", false, "plain text even on a terminal, as with NO_COLOR in the environment")
	f.outputs.add(cmd.Flags())
	return cmd
}

func replay(ctx context.Context, out io.Writer, saved *runrecord.Run, f *scenarioFlags) error {
	s, err := scenarioOf(saved)
	if err != nil {
		return badInput{err}
	}
	f.opts.Seed, f.opts.Clock, f.opts.Set, f.opts.Logger = saved.Scenario.Seed, saved.Scenario.Clock, saved.Scenario.Set, klog.Background()
	if err := f.outputs.prepare(1); err != nil {
		return badInput{err}
	}
	r := &scenarioRunner{flags: f, out: out}
	results, err := r.each(ctx, []*scenarios.Scenario{s})
	if len(results) == 1 && results[0].Run != nil && !results[0].Interrupted {
		compare(out, saved, results[0].Run)
	}
	return r.conclude(ctx, results, err)
}

func compare(out io.Writer, saved, run *runrecord.Run) {
	if diff := runrecord.FirstDifference(runrecord.Normalise(saved), runrecord.Normalise(run)); diff != "" {
		_, _ = fmt.Fprintf(out, "It went another way (- saved, + now): %s", diff)
		return
	}
	_, _ = fmt.Fprintln(out, "It went the same way as the saved run.")
}

// scenarioOf finds what was run: among those that are shipped, or in the text that was
// saved, or in its file.
func scenarioOf(saved *runrecord.Run) (*scenarios.Scenario, error) {
	set := saved.Scenario.Set
	var found []*scenarios.Scenario
	var err error
	switch {
	case saved.Scenario.Source != "":
		found, err = scenarios.Parse(saved.Scenario.File, []byte(saved.Scenario.Source), set)
	default:
		name := saved.Scenario.File
		if _, missing := os.Stat(name); name == "" || missing != nil {
			name = saved.Scenario.Name
		}
		found, err = scenarios.Find(name, set)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the scenario of the saved run: %w", err)
	}
	for _, s := range found {
		if s.Metadata.Name == saved.Scenario.Name {
			return s, nil
		}
	}
	return nil, errors.New("the file of the saved run no longer has a scenario " + saved.Scenario.Name)
}

// readAgain reads a scenario again, from where it was read.
func readAgain(s *scenarios.Scenario, set map[string]string) (*scenarios.Scenario, error) {
	found, err := scenarios.Find(argumentOf(s), set)
	if err != nil {
		return nil, err
	}
	for _, other := range found {
		if other.Metadata.Name == s.Metadata.Name {
			return other, nil
		}
	}
	return nil, fmt.Errorf("%s no longer has a scenario %s", s.File, s.Metadata.Name)
}
