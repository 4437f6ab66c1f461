package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
)

// outputs are the files to which reports are written. An empty name writes none.
type outputs struct{ junit, json, html, sarif, save string }

func (o *outputs) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.junit, "junit", "", "write a JUnit XML report to this file")
	flags.StringVar(&o.html, "html", "", "write a self-contained HTML report with plots to this file")
	flags.StringVar(&o.sarif, "sarif", "", "write the failures to this file in SARIF, for the code scanning of code hosts")
	flags.StringVar(&o.json, "json", "", "save the run as JSON in this file, for the commands why, report and replay; of several scenarios, a list for report")
	flags.StringVar(&o.save, "save", "", "save each run in this folder, as NAME/"+runrecord.FileName)
}

// prepare checks, before anything runs, that the reports can be written.
func (o *outputs) prepare() error {
	for flag, file := range map[string]string{"--junit": o.junit, "--json": o.json, "--html": o.html, "--sarif": o.sarif} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s=%s cannot be written: the folder %s does not exist", flag, file, filepath.Dir(file))
		}
		if err := writable(file); err != nil {
			return fmt.Errorf("%s=%s cannot be written: %w", flag, file, err)
		}
	}
	return nil
}

// writable returns an error if a file cannot be written. An existing file is not changed, and
// a new file is removed again.
func writable(name string) error {
	_, err := os.Stat(name)
	file, openErr := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if openErr != nil {
		return openErr
	}
	closeErr := file.Close()
	if os.IsNotExist(err) {
		return errors.Join(closeErr, os.Remove(name))
	}
	return closeErr
}

// write writes the reports of results, and says to out where they are.
func (o *outputs) write(out io.Writer, results []*scenarios.Result) error {
	for _, result := range results {
		if result.Run != nil && !strings.HasPrefix(result.Scenario.File, "library/") {
			// If the file cannot be read, the saved run has no source, and a replay reads the file.
			data, _ := os.ReadFile(result.Scenario.File)
			result.Run.Scenario.Source = string(data)
		}
	}
	return o.writeRuns(out, recordsOf(results))
}

// recordsOf returns the records of the runs that have one.
func recordsOf(results []*scenarios.Result) []*runrecord.Run {
	var runs []*runrecord.Run
	for _, result := range results {
		if result.Run != nil {
			runs = append(runs, result.Run)
		}
	}
	return runs
}

func (o *outputs) writeRuns(out io.Writer, runs []*runrecord.Run) error {
	if len(runs) == 0 {
		return nil
	}
	err := errors.Join(
		toFile(out, "JUnit report", o.junit, func(w io.Writer) error { return report.JUnit(w, runs) }),
		toFile(out, "HTML report", o.html, func(w io.Writer) error { return report.HTML(w, runs) }),
		toFile(out, "SARIF report", o.sarif, func(w io.Writer) error { return report.SARIF(w, runs) }),
		toFile(out, "run", o.json, func(w io.Writer) error { return runrecord.SaveAll(w, runs) }),
	)
	if o.save == "" {
		return err
	}
	taken := map[string]int{}
	for _, run := range runs {
		dir := filepath.Join(o.save, run.Scenario.Name)
		if taken[dir]++; taken[dir] > 1 {
			dir += "-" + strconv.Itoa(taken[dir])
		}
		if made := os.MkdirAll(dir, 0o755); made != nil {
			return errors.Join(err, fmt.Errorf("saving the run: %w", made))
		}
		err = errors.Join(err, toFile(out, "run", filepath.Join(dir, runrecord.FileName), run.Save))
	}
	return err
}

// toFile creates or truncates a file, calls write with it, and reports that on out. It does
// nothing for an empty name.
func toFile(out io.Writer, what, name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return err
	}
	if path, err := filepath.Abs(name); err == nil {
		name = path
	}
	_, err = fmt.Fprintf(out, "The %s is in %s\n", what, name)
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func newScenarioReport() *cobra.Command {
	o := &outputs{}
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Show saved runs as text, HTML, JUnit XML or SARIF",
		Long: `Show runs that "minikcm scenario run" saved with --save or --json. Without --html, --junit
and --sarif, the timeline is printed.`,
		Example: `  minikcm scenario run pod-kill --save ./runs
  minikcm scenario report ./runs/pod-kill --html report.html`,
		Args: someArgs("a saved run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs []*runrecord.Run
			for _, arg := range args {
				saved, err := runrecord.LoadAll(arg)
				if err != nil {
					return badInput{err}
				}
				runs = append(runs, saved...)
			}
			if o.html != "" || o.junit != "" || o.sarif != "" {
				return o.writeRuns(cmd.OutOrStdout(), runs)
			}
			for _, run := range runs {
				if err := report.Text(cmd.OutOrStdout(), run); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.html, "html", "", "write an HTML report with plots to this file")
	cmd.Flags().StringVar(&o.junit, "junit", "", "write a JUnit XML report to this file")
	cmd.Flags().StringVar(&o.sarif, "sarif", "", "write the failures to this file in SARIF")
	return cmd
}

func newScenarioSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenario files, for use in editors",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return write(cmd.OutOrStdout(), []byte(scenarios.Schema()), nil)
		},
	}
}
