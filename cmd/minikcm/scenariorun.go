package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/scenarios"
)

// interrupted is the exit code after SIGINT, as in shells: 128 + 2.
const interrupted = 130

// scenarioFlags are the flags of "minikcm scenario run".
type scenarioFlags struct {
	opts         scenarios.Options
	outputs      outputs
	parallel     int
	repeat       int
	untilFailure bool
	keepGoing    bool
	timeline     bool
	github       bool
	verbose      bool
	noColor      bool
	cpuProfile   string
}

func newScenarioRun() *cobra.Command {
	f := &scenarioFlags{}
	cmd := &cobra.Command{
		Use:   "run NAME|FILE|DIR...",
		Short: "Run scenarios, each on its own cluster",
		Long: `Run scenarios: built-in ones by name, others by the path of a file or folder. All are
checked before the first one starts. The exit code is 0 if all passed, 1 if one failed, 2
if the input is invalid, and 130 after Ctrl-C, which still writes the reports. With
--repeat, each run uses the next seed, and the command ends at the first failure, unless
--keep-going runs all seeds and counts the failures. Each failure is printed with the
command that reproduces it.`,
		Example: `  minikcm scenario run pod-kill
  minikcm scenario run ./my-scenario.yaml --seed 7 --html report.html
  minikcm scenario run ./scenarios --parallel 2 --junit junit.xml
  minikcm scenario run ./my-scenario.yaml --repeat 1000
  minikcm scenario run ./my-scenario.yaml --repeat 50 --keep-going`,
		Args:              someArgs("the name of a scenario (minikcm scenario list) or its file"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return badInput{err}
			}
			relaxGC()
			r := &scenarioRunner{flags: f, out: cmd.OutOrStdout(), args: args}
			return profiled(f.cpuProfile, func() error { return r.run(cmd.Context()) })
		},
	}
	f.add(cmd)
	return cmd
}

func (f *scenarioFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Uint64Var(&f.opts.Seed, "seed", 0, "seed of all random choices; 0 uses the scenario's seed")
	flags.StringVar(&f.opts.Clock, "clock", "", "virtual, real or scaled=N (default the scenario's clock)")
	flags.StringToStringVar(&f.opts.Set, "set", nil, "set a variable: --set name=value")
	flags.StringVar(&f.opts.Kubeconfig, "kubeconfig", "", "run on the existing cluster of this kubeconfig, on its clock")
	flags.StringVar(&f.opts.Namespace, "namespace", "", "with --kubeconfig, use this namespace in place of default; unless it exists, it is created, and deleted at the end (default minikcm-NAME for built-in scenarios, otherwise default)")
	flags.BoolVar(&f.opts.Overwrite, "overwrite", false, "with --kubeconfig, change existing objects that were not created by a scenario")
	flags.IntVar(&f.parallel, "parallel", 1, "number of scenarios to run at the same time")
	flags.IntVar(&f.repeat, "repeat", 1, "number of runs, each with the next seed; the first failure ends the command")
	flags.BoolVar(&f.untilFailure, "until-failure", false, "repeat with the next seed until a run fails or Ctrl-C")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "with --repeat, continue after failures, and print how many seeds failed and which")
	flags.BoolVar(&f.github, "github-annotations", os.Getenv("GITHUB_ACTIONS") == "true", "print the failures as annotations of GitHub Actions, which shows them beside the lines of the files (default in GitHub Actions)")
	flags.BoolVar(&f.timeline, "timeline", false, "print the whole timeline after each run")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print what the time of each run went to: the processor time of the steps, and the writes by client and resource")
	flags.BoolVar(&f.noColor, "no-color", false, "print without color even on a terminal, as with NO_COLOR in the environment")
	flags.StringVar(&f.cpuProfile, "cpuprofile", "", "write a CPU profile of the runs to this file, for go tool pprof")
	f.outputs.add(flags)
}

func (f *scenarioFlags) check() error {
	if _, _, err := clock.ParseMode(f.opts.Clock); f.opts.Clock != "" && err != nil {
		return fmt.Errorf("--clock: %w", err)
	}
	switch {
	case f.parallel < 1:
		return fmt.Errorf("--parallel must be at least 1, not %d", f.parallel)
	case f.repeat < 1:
		return fmt.Errorf("--repeat must be at least 1, not %d", f.repeat)
	case f.keepGoing && f.untilFailure:
		return errors.New("--keep-going and --until-failure exclude each other: one continues after a failure, the other stops at it")
	case f.keepGoing && f.repeat == 1:
		return errors.New("--keep-going needs --repeat N: it counts how many of N seeds fail")
	case f.opts.Kubeconfig != "" && f.opts.Clock != "" && f.opts.Clock != "real":
		return fmt.Errorf("--clock=%s cannot be used with --kubeconfig: an existing cluster has its own clock", f.opts.Clock)
	case f.opts.Kubeconfig == "" && (f.opts.Namespace != "" || f.opts.Overwrite):
		return errors.New("--namespace and --overwrite need --kubeconfig: a scenario's own cluster contains nothing else")
	case f.opts.Kubeconfig != "" && f.parallel > 1:
		return errors.New("--parallel cannot be used with --kubeconfig: scenarios on the same cluster would interfere")
	}
	return nil
}

// scenarioRunner runs the scenarios that the arguments select.
type scenarioRunner struct {
	flags *scenarioFlags
	out   io.Writer
	args  []string
	// begun counts the runs that have started.
	begun atomic.Int64
}

// job is one run to do. Concurrent jobs do not share a scenario.
type job struct {
	index    int
	scenario *scenarios.Scenario
	seed     uint64
}

func (r *scenarioRunner) run(ctx context.Context) error {
	f := r.flags
	if f.opts.Kubeconfig != "" {
		var err error
		if f.opts.Config, err = clientConfig(ctx, f.opts.Kubeconfig); err != nil {
			return badInput{err}
		}
	}
	place, unreachable := scenarios.FindPlace(ctx, f.opts.Config)
	if unreachable != nil {
		place = scenarios.RunningCluster // the cluster's features are unknown
	}
	all, err := r.find(place)
	if err != nil {
		return badInput{err}
	}
	if unreachable != nil {
		return unreachable
	}
	f.opts.Logger = klog.Background()
	self, err := executable()
	if err != nil {
		return fmt.Errorf("finding this executable, which contains kubectl: %w", err)
	}
	f.opts.Kubectl = []string{self, "kubectl"}
	f.opts.Example = func(name string) []string { return []string{self, "example", name} }
	if err := f.outputs.prepare(); err != nil {
		return badInput{err}
	}
	f.takeTurns(all)
	var results []*scenarios.Result
	if f.repeats() {
		results, err = r.explore(ctx, all)
	} else {
		results, err = r.each(ctx, all)
	}
	return r.conclude(ctx, results, err)
}

func (r *scenarioRunner) find(place scenarios.Place) ([]*scenarios.Scenario, error) {
	var all []*scenarios.Scenario
	var problems error
	for _, arg := range r.args {
		found, err := scenarios.Find(arg, r.flags.opts.Set)
		problems = errors.Join(problems, err)
		for _, s := range found {
			problems = errors.Join(problems, scenarios.Possible(s, place))
		}
		all = append(all, found...)
	}
	return all, problems
}

// conclude writes the reports and returns the error or exit code of the command.
func (r *scenarioRunner) conclude(ctx context.Context, results []*scenarios.Result, err error) error {
	err = errors.Join(err, r.flags.outputs.write(r.out, results))
	if r.flags.github {
		err = errors.Join(err, report.GitHub(r.out, recordsOf(results)))
	}
	stopped := ctx.Err() != nil
	var failed []string
	for _, result := range results {
		stopped = stopped || result.Interrupted
		if result.Failure != nil && !slices.Contains(failed, result.Scenario.Metadata.Name) {
			failed = append(failed, result.Scenario.Metadata.Name)
		}
	}
	if len(results) > 1 && !r.flags.repeats() && !stopped {
		_, _ = fmt.Fprintln(r.out, closing(len(results), failed))
	}
	switch {
	case stopped:
		_, _ = fmt.Fprintf(r.out, "Interrupted: %s had started.\n", counted(int(r.begun.Load()), "run"))
		return exitCode(interrupted)
	case err != nil:
		return err
	case len(failed) > 0:
		return exitCode(1)
	}
	return nil
}

// closing returns the last output line of a command that ran several scenarios.
func closing(runs int, failed []string) string {
	if len(failed) == 0 {
		return fmt.Sprintf("All %d passed.", runs)
	}
	return fmt.Sprintf("%d of %d failed: %s", len(failed), runs, strings.Join(failed, ", "))
}

// repeats reports whether the scenarios run with several seeds.
func (f *scenarioFlags) repeats() bool { return f.repeat > 1 || f.untilFailure }

// each runs every scenario once. It continues after failures.
func (r *scenarioRunner) each(ctx context.Context, all []*scenarios.Scenario) ([]*scenarios.Result, error) {
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for i, s := range all {
			select {
			case jobs <- job{index: i, scenario: s, seed: r.flags.opts.Seed}:
			case <-ctx.Done():
				return
			}
		}
	}()
	results := make([]*scenarios.Result, len(all))
	failures := make([]error, len(all))
	var printing sync.Mutex
	var workers sync.WaitGroup
	for range r.flags.parallel {
		workers.Go(func() {
			for j := range jobs {
				var buffer bytes.Buffer
				out := r.out
				if r.flags.parallel > 1 {
					out = &buffer
				}
				results[j.index], failures[j.index] = r.one(ctx, j, out)
				printing.Lock()
				_, _ = r.out.Write(buffer.Bytes()) // fails only if the reader is gone
				printing.Unlock()
			}
		})
	}
	workers.Wait()
	return compact(results), errors.Join(failures...)
}

func compact(results []*scenarios.Result) []*scenarios.Result {
	var all []*scenarios.Result
	for _, result := range results {
		if result != nil {
			all = append(all, result)
		}
	}
	return all
}

// one does one run and prints its progress to out.
func (r *scenarioRunner) one(ctx context.Context, j job, out io.Writer) (*scenarios.Result, error) {
	opts := r.flags.opts
	opts.Seed = j.seed
	r.begun.Add(1)
	p := newProgress(out, r.flags.noColor, r.flags.opts.Kubeconfig)
	defer p.stop()
	opts.Progress, opts.Recording = p, p.follow
	result, err := scenarios.Run(ctx, j.scenario, opts)
	if errors.As(err, new(*scenarios.OverwriteError)) {
		return nil, badInput{err}
	}
	if err != nil {
		return nil, err
	}
	if r.flags.verbose {
		p.print("%s", costText(result))
	}
	if r.flags.timeline {
		err = report.Text(out, result.Run)
	}
	return result, err
}
