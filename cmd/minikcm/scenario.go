package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/scenarios"
)

func newScenario() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Rehearse failures from scripts",
		Args:  aCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioRun(), newScenarioList())
	return cmd
}

func newScenarioList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the scenarios that are shipped",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := scenarios.Library()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			_, _ = fmt.Fprintln(w, "NAME\tDESCRIPTION")
			for _, s := range all {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", s.Metadata.Name, s.Spec.Description)
			}
			return w.Flush()
		},
	}
}

func newScenarioRun() *cobra.Command {
	var opts scenarios.Options
	var noColor bool
	cmd := &cobra.Command{
		Use:   "run NAME|FILE...",
		Short: "Run scenarios, each on a cluster of its own",
		Long: `run runs shipped scenarios by their name, and others by their file's path. It ends
with exit code 0 if all passed and 1 if one failed. All files are checked before
anything starts.`,
		Example: `  minikcm scenario run pod-kill
  minikcm scenario run ./my-scenario.yaml --seed 7 --clock real`,
		Args: someArgs("the name of a scenario (minikcm scenario list) or its file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []*scenarios.Scenario
			for _, arg := range args {
				found, err := scenarios.Find(arg, nil)
				if err != nil {
					return err
				}
				all = append(all, found...)
			}
			out := cmd.OutOrStdout()
			opts.Progress = &progress{out: out, color: wantsColor(noColor, isTerminal(out))}
			opts.Logger = klog.Background()
			return runScenarios(cmd, all, opts)
		},
	}
	cmd.Flags().Uint64Var(&opts.Seed, "seed", 0, "what all choices of chance follow from; 0 is the scenario's own")
	cmd.Flags().StringVar(&opts.Clock, "clock", "", "virtual, real or scaled=N; without it, the scenario's own")
	cmd.Flags().BoolVar(&noColor, "no-color", false, "plain text even on a terminal, as with NO_COLOR in the environment")
	return cmd
}

func runScenarios(cmd *cobra.Command, all []*scenarios.Scenario, opts scenarios.Options) error {
	failed := false
	for _, s := range all {
		result, err := scenarios.Run(cmd.Context(), s, opts)
		if err != nil {
			return err
		}
		failed = failed || result.Failure != nil
	}
	if failed {
		return exitCode(1)
	}
	return nil
}

// wantsColor follows https://no-color.org.
func wantsColor(noColor, terminal bool) bool {
	return terminal && !noColor && os.Getenv("NO_COLOR") == ""
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// The colours of progress, for terminals (ECMA-48, 8.3.117).
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
	// rewind goes back to the start of the line and clears it.
	rewind = "\r\x1b[K"
)

// progress shows a run as it goes on.
type progress struct {
	out   io.Writer
	color bool
	// cluster is how much of the cluster's time has passed.
	cluster time.Duration
}

func (p *progress) print(format string, args ...any) {
	// Nothing can be told to somebody who does not listen any more.
	_, _ = fmt.Fprintf(p.out, format, args...)
}

func (p *progress) paint(color, text string) string {
	if !p.color {
		return text
	}
	return color + text + plain
}

func (p *progress) Begin(s *scenarios.Scenario) {
	p.cluster = 0
	p.print("%s  %s\n", p.paint(bold, s.Metadata.Name), s.Spec.Description)
}

func (p *progress) StepBegins(title string) {
	if p.color {
		p.print("  … %s", title)
	}
}

func (p *progress) StepEnded(step scenarios.StepResult) {
	if p.color {
		p.print(rewind)
	}
	mark := p.paint(green, "✓")
	if step.Failure != nil {
		mark = p.paint(red, "✗")
	}
	p.cluster += step.Cluster
	p.print("  %s %s  %s\n", mark, step.Title, p.paint(faint, fmt.Sprintf("at %v (%v)", round(p.cluster), round(step.Real))))
	for _, note := range step.Notes {
		p.print("      %s\n", p.paint(faint, note))
	}
	if step.Failure != nil {
		p.print("      %s\n", strings.ReplaceAll(step.Failure.Error(), "\n", "\n      "))
	}
}

func (p *progress) End(result *scenarios.Result) {
	text := result.Text()
	color := green
	if result.Failure != nil {
		color = red
	}
	word, rest, _ := strings.Cut(text, " ")
	p.print("%s %s\n", p.paint(color, word), rest)
	if result.Failure != nil {
		p.print("See it again: minikcm scenario run %s --seed %d\n", again(result.Scenario), result.Seed)
	}
}

// again is how the user named the scenario.
func again(s *scenarios.Scenario) string {
	if strings.HasPrefix(s.File, "library/") {
		return s.Metadata.Name
	}
	return s.File
}

// round leaves what a person reads of a duration.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
