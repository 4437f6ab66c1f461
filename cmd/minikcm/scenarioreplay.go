package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
)

func newScenarioReplay() *cobra.Command {
	f := &scenarioFlags{parallel: 1, repeat: 1}
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Repeat a saved run and compare the two",
		Long: `Run the scenario of a saved run again, with the same seed, clock and variables, and
compare the events of the two runs. The first difference is printed. Revisions, and the
order of events at the same instant, are not compared. The exit code is that of the
scenario, as with run: a difference is reported but does not fail the command.`,
		Example: `  minikcm scenario run ./my-scenario.yaml --seed 7 --json run.json
  minikcm scenario replay run.json`,
		Args: oneArg("a saved run: its file, or the folder that contains it"),
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
	if err := f.outputs.prepare(); err != nil {
		return badInput{err}
	}
	all := []*scenarios.Scenario{s}
	f.takeTurns(all)
	r := &scenarioRunner{flags: f, out: out}
	results, err := r.each(ctx, all)
	if len(results) == 1 && results[0].Run != nil && !results[0].Interrupted {
		compare(out, saved, results[0].Run)
	}
	return r.conclude(ctx, results, err)
}

func compare(out io.Writer, saved, run *runrecord.Run) {
	if diff := runrecord.FirstDifference(runrecord.Normalise(saved), runrecord.Normalise(run)); diff != "" {
		_, _ = fmt.Fprintf(out, "The runs differ (- saved, + now): %s", diff)
		if text := saved.ReproducibleText(); text != "" {
			_, _ = fmt.Fprintf(out, "%s.\n", text)
		}
		return
	}
	_, _ = fmt.Fprintln(out, "The run matches the saved run.")
}

// scenarioOf finds the scenario of a saved run: in the source saved with the run, else in the
// run's file, else among the built-in scenarios.
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
	return nil, errors.New("the file of the saved run no longer contains the scenario " + saved.Scenario.Name)
}

// readAgain reads a scenario again from its source.
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
	return nil, fmt.Errorf("%s no longer contains the scenario %s", s.File, s.Metadata.Name)
}
