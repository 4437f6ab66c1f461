package main

import (
	_ "embed" // the template of a new scenario
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/scenarios"
)

//go:embed scenario-template.yaml
var scenarioTemplate string

func newScenario() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "Rehearse failures with scripted scenarios",
		Args:  aCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScenarioRun(), newScenarioReplay(), newScenarioReport(), newScenarioValidate(), newScenarioList(), newScenarioShow(), newScenarioNew(), newScenarioSchema())
	return cmd
}

func newScenarioList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
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

func newScenarioShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the file of a built-in scenario",
		Example: `  minikcm scenario show pod-kill > my-scenario.yaml`,
		Args:    oneArg("the name of a built-in scenario (minikcm scenario list)"),

		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := scenarios.Source(args[0])
			if err != nil {
				return badInput{err}
			}
			return write(cmd.OutOrStdout(), data, nil)
		},
	}
}

func newScenarioValidate() *cobra.Command {
	var set map[string]string
	cmd := &cobra.Command{
		Use:   "validate NAME|FILE|DIR...",
		Short: "Check scenarios without running them",
		Long: `Check scenarios as "minikcm scenario run" does, without starting a cluster. All problems
are printed with file, line and field. The exit code is 2 if there are any.`,
		Example: `  minikcm scenario validate ./my-scenario.yaml ./scenarios`,
		Args:    someArgs("a scenario's file"),

		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			var problems error
			for _, arg := range args {
				found, err := scenarios.Find(arg, set)
				if err != nil {
					problems = errors.Join(problems, err)
					continue
				}
				for _, s := range found {
					if err := scenarios.Possible(s, scenarios.OwnCluster); err != nil {
						problems = errors.Join(problems, err)
						continue
					}
					_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is valid: %s\n", s.File, s.Metadata.Name, counted(len(s.Spec.Steps), "step"))
				}
			}
			return asBadInput(problems)
		},
	}
	cmd.Flags().StringToStringVar(&set, "set", nil, "set a variable: --set name=value")
	return cmd
}

// counted returns a number with its noun in the singular or plural.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// validName matches the valid names of scenarios.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func newScenarioNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new FILE",
		Short: "Create a commented scenario to start from",
		Long: `Write a scenario that applies a Deployment with a PodDisruptionBudget, kills one of its
pods and checks the result. It runs unchanged, and its comments explain what to replace.
A name without .yaml, .yml or .json gets .yaml, because folders are searched for these
extensions. An existing file is never overwritten; - writes to standard output.`,
		Example: `  minikcm scenario new my-scenario.yaml
  minikcm scenario run my-scenario.yaml`,
		Args: oneArg("the name of the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return write(cmd.OutOrStdout(), []byte(scenarioTemplate), nil)
			}
			path := args[0]
			if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				path += ".yaml"
			}
			name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
			text := scenarioTemplate
			if validName.MatchString(name) {
				text = strings.Replace(text, "name: my-scenario\n", "name: "+name+"\n", 1)
			}
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return badInput{fmt.Errorf("%s already exists; choose another name, or remove the file first", path)}
			}
			if err != nil {
				return fmt.Errorf("writing the new scenario: %w", err)
			}
			_, err = file.WriteString(text)
			if err := errors.Join(err, file.Close()); err != nil {
				return fmt.Errorf("writing the new scenario: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s. Run it: minikcm scenario run %s\n", path, shellQuote(path))
			return err
		},
	}
}

// asPath writes a file name so that it is not taken for the name of a built-in scenario.
func asPath(file string) string {
	if filepath.Ext(file) == "" && !strings.ContainsAny(file, `/\`) {
		return "./" + file
	}
	return file
}
