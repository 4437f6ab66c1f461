package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// huntFlags are the flags of "minikcm hunt".
type huntFlags struct {
	hunt.Binary
	operator string
	// self selects minikcm's own controllers; empty: they are not hunted.
	self string
	// kcm is the program of a controller manager or scheduler; empty: it is not hunted.
	kcm     string
	output  string
	out     string
	outputs outputs
}

func newHunt() *cobra.Command {
	f := &huntFlags{}
	cmd := &cobra.Command{
		Use:   "hunt (--operator COMMAND SCENARIO | --self[=CONTROLLERS] [SCENARIO] | --kcm PATH [SCENARIO])",
		Short: "Find bugs of an operator by disturbing its requests",
		Long: `Run a scenario beside an operator again and again, each time on a new cluster and with a
disturbance at one of the operator's writes: the operator is killed before or after it, the
write fails or its answer is lost, events come late, or the next life of the operator sees
an older state. A run that ends in another state than undisturbed, or in which a check of the
scenario fails, is a finding. Each finding is repeated, and one that does not come back is
listed as such.

The command is run by the shell, with KUBECONFIG set; it must not be in another container.
Custom resource definitions can be in files and folders that spec.cluster.objects of the
scenario names. The clocks of the clusters run faster than the machine's, by --speed.

With --self, minikcm's own controllers are hunted, in a scenario of their own if none is given.
Their runs are in this process and on virtual time, so each finding is exact. CONTROLLERS
selects them as for "minikcm up --controllers", with kube-scheduler as one more name.
With --kcm, it is another kube-controller-manager's or kube-scheduler's program, which takes
the place of minikcm's own.

With --replay, only the runs of one finding are made: that is the test of its repair. --out
writes it as a script, which is run from anywhere, by the minikcm in PATH or in MINIKCM.

The exit code is 1 if there are findings, or if no hunt takes place, and 2 for wrong flags and
files.`,
		Example: `  minikcm hunt --operator bin/manager scenario.yaml
  minikcm hunt --operator 'bin/manager --leader-elect=false' scenario.yaml --budget 20m --junit hunt.xml
  minikcm hunt --self --budget 10m
  minikcm hunt --kcm bin/kube-controller-manager --speed 5
  minikcm hunt --self=job-controller,cronjob-controller,kube-scheduler jobs.yaml`,
		Args: atMostOneArg("the file of a scenario"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.Scenario = args[0]
			}
			if err := f.check(cmd.Context()); err != nil {
				return badInput{err}
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.operator, "operator", "", "command that runs the operator")
	flags.StringVar(&f.self, "self", "", "hunt minikcm's own controllers: a list as for \"minikcm up --controllers\", with kube-scheduler as one more name")
	flags.Lookup("self").NoOptDefVal = allControllers
	flags.StringVar(&f.kcm, "kcm", "", "hunt this program of kube-controller-manager or kube-scheduler")
	flags.DurationVar(&f.Budget, "budget", 5*time.Minute, "time after which no new run begins")
	flags.IntVar(&f.Trials, "trials", 500, "largest number of disturbed runs")
	flags.IntVar(&f.Repeats, "repeat", 5, "number of repetitions of each finding")
	flags.StringArrayVar(&f.Replay, "replay", nil, "make only the runs of a finding with this disturbance (may be repeated), --repeat times")
	flags.IntVar(&f.Parallel, "parallel", runtime.GOMAXPROCS(0), "number of runs at the same time")
	flags.Uint64Var(&f.Seed, "seed", 1, "seed of the clusters, and of the pairs of disturbances")
	flags.Float64Var(&f.Speed, "speed", 10, "how much faster the clusters' clocks run than the machine's")
	flags.StringToStringVar(&f.Set, "set", nil, "set a variable of the scenario: --set name=value")
	flags.StringVar(&f.out, "out", "", "write a script for each finding to this folder, which makes its runs again and fails before the repair")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	flags.StringVar(&f.outputs.junit, "junit", "", "write a JUnit XML report to this file")
	flags.StringVar(&f.outputs.html, "html", "", "write an HTML report of the findings' runs to this file")
	flags.StringVar(&f.outputs.sarif, "sarif", "", "write the findings to this file in SARIF")
	return cmd
}

// allControllers is the value of --self without one.
const allControllers = "*"

// check returns what is wrong with the flags and the files that they name.
func (f *huntFlags) check(ctx context.Context) error {
	if err := f.checkFlags(); err != nil {
		return err
	}
	if f.Scenario != "" {
		if err := hunt.CheckScenario(f.Scenario, f.Set); err != nil {
			return err
		}
	}
	if f.kcm != "" {
		if err := hunt.CheckUpstream(ctx, f.kcm); err != nil {
			return fmt.Errorf("--kcm: %w", err)
		}
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o750); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return f.outputs.prepare()
}

func (f *huntFlags) checkFlags() error {
	switch {
	case f.operator == "" && f.self == "" && f.kcm == "":
		return fmt.Errorf("--operator is missing: the command that runs the operator, such as --operator bin/manager; or --self, or --kcm")
	case f.operator != "" && f.self != "", f.operator != "" && f.kcm != "", f.self != "" && f.kcm != "":
		return fmt.Errorf("--operator, --self and --kcm exclude each other")
	case f.Scenario == "" && f.operator != "":
		return fmt.Errorf("the file of a scenario is missing")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output=%s: must be text or json", f.output)
	case f.Budget <= 0:
		return fmt.Errorf("--budget must be more than 0, not %v", f.Budget)
	case f.Trials < 1, f.Repeats < 1, f.Parallel < 1:
		return fmt.Errorf("--trials, --repeat and --parallel must be at least 1")
	case !(f.Speed >= 1 && f.Speed <= 1000):
		return fmt.Errorf("--speed must be from 1 to 1000, not %v", f.Speed)
	}
	for _, text := range f.Replay {
		if _, err := hunt.ParseDisturbance(text); err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
	}
	if f.self != "" {
		if err := hunt.CheckControllers(f.self); err != nil {
			return fmt.Errorf("--self: %w", err)
		}
	}
	if f.operator != "" {
		shell, err := exec.LookPath("sh")
		if err != nil {
			return fmt.Errorf("--operator is run by a shell: %w", err)
		}
		f.Command = []string{shell, "-c", f.operator}
	}
	return nil
}

func (f *huntFlags) run(cmd *cobra.Command) error {
	errOut, terminal := cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr())
	if terminal {
		_, _ = fmt.Fprint(errOut, "undisturbed runs...")
		f.Progress = func(p hunt.Progress) {
			_, _ = fmt.Fprintf(errOut, rewind+"%d of %d writes tried, %d runs, %d findings", p.Tried, p.Points, p.Runs, p.Findings)
		}
	}
	report, err := f.hunted(cmd.Context())
	if terminal {
		_, _ = fmt.Fprint(errOut, rewind)
	}
	switch {
	case cmd.Context().Err() != nil:
		return exitCode(interrupted)
	case err != nil:
		return fmt.Errorf("no hunt of %q: %w", cmp.Or(f.operator, f.kcm, "minikcm's controllers"), err)
	}
	if err := f.print(cmd.OutOrStdout(), report); err != nil {
		return err
	}
	if err := f.writeScripts(errOut, report.Findings); err != nil {
		return err
	}
	var runs []*runrecord.Run
	for _, found := range report.Findings {
		if found.Run != nil {
			runs = append(runs, found.Run)
		}
	}
	if err := f.outputs.writeRuns(errOut, runs); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return exitCode(1)
	}
	return nil
}

// hunted makes the hunt.
func (f *huntFlags) hunted(ctx context.Context) (*hunt.Report, error) {
	switch {
	case f.self != "":
		return hunt.HuntControllers(ctx, f.self, f.Binary)
	case f.kcm != "":
		return hunt.HuntUpstream(ctx, f.kcm, f.Binary)
	}
	return hunt.HuntBinary(ctx, f.Binary)
}

// replayOf returns the arguments of minikcm that makes the runs of a finding again.
func (f *huntFlags) replayOf(found *hunt.Found) string {
	var b strings.Builder
	switch {
	case f.self != "":
		b.WriteString("hunt --self=" + shellQuote(f.self))
	case f.kcm != "":
		fmt.Fprintf(&b, "hunt --kcm %s --speed %v", shellQuote(f.kcm), f.Speed)
	default:
		fmt.Fprintf(&b, "hunt --operator %s --speed %v", shellQuote(f.operator), f.Speed)
	}
	if f.Scenario != "" {
		b.WriteString(" " + shellQuote(f.Scenario))
	}
	fmt.Fprintf(&b, " --seed %d", f.Seed)
	for _, name := range slices.Sorted(maps.Keys(f.Set)) {
		b.WriteString(" --set " + shellQuote(name+"="+f.Set[name]))
	}
	for _, d := range found.Disturbances {
		b.WriteString(" --replay " + shellQuote(d))
	}
	return b.String()
}

// writeScripts writes a script for each finding, which works from the folder of this command.
func (f *huntFlags) writeScripts(errOut io.Writer, findings []hunt.Found) error {
	if f.out == "" {
		return nil
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	out, err := filepath.Abs(f.out)
	if err != nil {
		return err
	}
	back, err := filepath.Rel(out, here)
	if err != nil {
		back = here // on another drive
	}
	for i := range findings {
		found := &findings[i]
		text := "#!/bin/sh\n# It fails until this finding of minikcm hunt is repaired:\n#\n# " + strings.ReplaceAll(strings.TrimSpace(found.Story), "\n", "\n# ") +
			fmt.Sprintf("\ncd \"$(dirname \"$0\")\"/%s || exit 1\nexec \"${MINIKCM:-minikcm}\" %s\n", shellQuote(filepath.ToSlash(back)), f.replayOf(found))
		file := filepath.Join(f.out, found.Name+".sh")
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		_, _ = fmt.Fprintf(errOut, "wrote %s\n", file)
	}
	return nil
}

// print prints the findings.
func (f *huntFlags) print(out io.Writer, report *hunt.Report) error {
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	var b strings.Builder
	for i, found := range report.Findings {
		fmt.Fprintf(&b, "finding %d of %d: %s  Repeat it, and keep it as a test of the repair:\n    minikcm %s\n\n", i+1, len(report.Findings), found.Story, f.replayOf(&found))
	}
	for _, found := range report.Unrepeated {
		fmt.Fprintf(&b, "no finding, since it did not come back: %s\n", found.Story)
	}
	fmt.Fprintf(&b, "%s of the operator, %s (in %d of them the write did not occur), %s\n", counted(report.Points, "write"), counted(report.Tried, "disturbed run"), report.Unmet, counted(len(report.Findings), "finding"))
	if report.Left > 0 {
		fmt.Fprintf(&b, "not tried, for lack of time (--budget) or runs (--trials): %s\n", counted(report.Left, "disturbance"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
