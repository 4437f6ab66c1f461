package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/clockapi"
	"minikcm.dev/minikcm/internal/ui"
	"minikcm.dev/minikcm/scenarios"
)

// demoFlags are the flags of "minikcm demo".
type demoFlags struct {
	clock, examples, language string
	ui, noWait, raw           bool
	seed                      uint64
	set                       map[string]string
}

func newDemo() *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Show how controllers work, in a guided tour",
		Long: `Run a guided tour: a scenario that explains each step before it happens, and waits for
Enter. b and Enter shows the text before again, q and Enter ends the tour, as Ctrl-D does.
Without a name, list the tours.

A tour has a cluster of its own. Its time stands still while the audience reads, and jumps over
what the steps wait for. With --clock scaled=10, it runs ten times as fast as the machine's
instead, also while the audience reads. --ui serves the live page of the cluster.

Some tours run programs of the folder examples beside the cluster. These are built in. After
you have changed one of them, --examples runs yours, from the folder with what "go build" made.`,
		Example: `  minikcm demo
  minikcm demo list-watch
  minikcm demo node-dies --ui --clock scaled=10
  minikcm demo ingress-manager --examples ./bin`,
		Args:              atMostOneArg("at most the name of a tour"),
		ValidArgsFunction: completeTours,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.language = cmp.Or(f.language, languageOf(os.Getenv))
			if len(args) == 0 {
				return listTours(cmd.OutOrStdout(), f.language)
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.clock, "clock", "", "virtual, real or scaled=N (default virtual)")
	flags.StringVar(&f.examples, "examples", "", "folder with programs to run in place of the built-in examples, by their names")
	flags.BoolVar(&f.ui, "ui", false, "serve the live page of the cluster, and print its link")
	flags.StringVar(&f.language, "language", "", "language of the texts: en or zh (default that of LC_ALL, LC_MESSAGES or LANG)")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for Enter")
	flags.BoolVar(&f.raw, "no-color", false, "print without color even on a terminal, as with NO_COLOR in the environment")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all random choices; 0 uses the tour's seed")
	flags.StringToStringVar(&f.set, "set", nil, "set a variable of the tour: --set name=value")
	return cmd
}

func listTours(w io.Writer, language string) error {
	all, err := toursIn(language)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tSHOWS") // Flush returns the error
	for _, tour := range all {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", tour.Metadata.Name, tour.Spec.Description)
	}
	return table.Flush()
}

func (f *demoFlags) run(cmd *cobra.Command, name string) error {
	tour, err := scenarios.Tour(name, f.set)
	if err != nil {
		return badInput{err}
	}
	if tour, err = scenarios.InLanguage(tour, f.language); err != nil {
		return badInput{fmt.Errorf("--language: %w", err)}
	}
	if _, _, err := clock.ParseMode(f.clock); f.clock != "" && err != nil {
		return badInput{fmt.Errorf("--clock: %w", err)}
	}
	self, err := executable()
	if err != nil {
		return fmt.Errorf("finding this executable, which contains kubectl: %w", err)
	}
	if err := f.findExamples(tour); err != nil {
		return badInput{err}
	}
	relaxGC()
	p := newPresenter(cmd, f, tour)
	defer p.progress.stop()
	opts := scenarios.Options{
		Progress: p.progress, Recording: p.progress.follow, Present: p.present, Seed: f.seed, Clock: f.clock,
		Kubectl: []string{self, "kubectl"}, Example: f.example(self), Set: f.set, Logger: klog.Background(),
	}
	page, err := f.servePage(cmd, &opts)
	if err != nil {
		return err
	}
	defer page.Close()
	result, err := scenarios.Run(cmd.Context(), tour, opts)
	switch {
	case err != nil:
		return err
	case result.Interrupted:
		return exitCode(interrupted)
	case result.Failure != nil && !errors.Is(result.Failure, errTourEnded):
		return exitCode(1)
	case result.Failure == nil:
		return p.next(name, f.language)
	}
	return nil
}

// findExamples returns an error if the folder of --examples lacks a program of the tour.
func (f *demoFlags) findExamples(tour *scenarios.Scenario) error {
	if f.examples == "" {
		return nil
	}
	for _, name := range scenarios.Examples(tour) {
		if _, err := exec.LookPath(f.programIn(name)); err != nil {
			return fmt.Errorf("--examples: the tour runs %s, and %w; build it there with: go -C examples build -o %s ./%s", name, err, shellQuote(f.examples), name)
		}
	}
	return nil
}

func (f *demoFlags) programIn(name string) string { return asPath(filepath.Join(f.examples, name)) }

// example returns the command line that runs an example: this executable, or a program of --examples.
func (f *demoFlags) example(self string) func(name string) []string {
	return func(name string) []string {
		if f.examples != "" {
			return []string{f.programIn(name)}
		}
		return []string{self, "example", name}
	}
}

// servePage serves the live page of the tour's cluster. Without --ui, the page is nil.
func (f *demoFlags) servePage(cmd *cobra.Command, opts *scenarios.Options) (*ui.Server, error) {
	if !f.ui {
		return nil, nil
	}
	page, err := ui.Listen(cmd.Context(), ui.Options{Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	opts.Extensions = append(opts.Extensions, page.Extension(), clockapi.Extension())
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Open the live page at %s (once).\n\n", page.Link())
	return page, err
}

// patience is the time for which the lines of programs wait for the end of a step. Most steps of the
// tours are shorter; longer ones show the lines meanwhile.
const patience = 500 * time.Millisecond
