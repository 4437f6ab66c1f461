package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/spell"
)

//go:embed samples
var sampleFiles embed.FS

// sample is a set of objects to begin with.
type sample struct {
	name, shows string
	yaml        []byte
}

// samples returns the samples, each with the comment that its file begins with.
func samples() ([]sample, error) {
	entries, err := sampleFiles.ReadDir("samples")
	if err != nil {
		return nil, fmt.Errorf("reading the samples: %w", err)
	}
	all := make([]sample, 0, len(entries))
	for _, entry := range entries {
		data, err := sampleFiles.ReadFile("samples/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the sample %s: %w", entry.Name(), err)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		all = append(all, sample{strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), strings.TrimSuffix(strings.TrimPrefix(first, "# "), "."), data})
	}
	return all, nil
}

func newSample() *cobra.Command {
	var kubeconfig string
	var show bool
	cmd := &cobra.Command{
		Use:   "sample [NAME]",
		Short: "Load objects to begin with into a cluster",
		Long: `Load the workloads of an example into a cluster: the shop has three teams with Deployments, a
StatefulSet, a CronJob, Services, disruption budgets, an autoscaler, a quota and a network
policy, in namespaces of their own. Loading it again changes what differs. Without a name, list
the samples.`,
		Example: `  minikcm sample
  minikcm sample shop
  minikcm kubectl delete namespaces --selector team`,
		Args:              atMostOneArg("at most the name of a sample"),
		ValidArgsFunction: completeSamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSamples(cmd.OutOrStdout())
			}
			one, err := sampleNamed(args[0])
			switch {
			case err != nil:
				return err
			case show:
				_, err = cmd.OutOrStdout().Write(one.yaml)
				return err
			}
			return load(cmd, one, kubeconfig)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().BoolVar(&show, "print", false, "print the objects as YAML, and load nothing")
	return cmd
}

func listSamples(w io.Writer) error {
	all, err := samples()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tSHOWS") // Flush returns the error
	for _, s := range all {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", s.name, s.shows)
	}
	return table.Flush()
}

func sampleNamed(name string) (sample, error) {
	all, err := samples()
	if err != nil {
		return sample{}, err
	}
	var names []string
	for _, s := range all {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	if meant := spell.Nearest(name, names); meant != "" {
		return sample{}, badInput{fmt.Errorf("there is no sample %q; did you mean %s?", name, meant)}
	}
	return sample{}, badInput{fmt.Errorf("there is no sample %q; there are %s", name, strings.Join(names, ", "))}
}

// load applies a sample as "kubectl apply --server-side" does, whose lines and exit code it has.
func load(cmd *cobra.Command, s sample, kubeconfig string) error {
	self, err := executable()
	if err != nil {
		return fmt.Errorf("finding this executable, which contains kubectl: %w", err)
	}
	args := []string{"kubectl", "apply", "--server-side", "-f", "-"}
	if kubeconfig != "" {
		args = append(args, "--kubeconfig", kubeconfig)
	}
	kubectl := exec.CommandContext(cmd.Context(), self, args...)
	kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = strings.NewReader(string(s.yaml)), cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = kubectl.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return exitCode(failed.ExitCode())
	case err != nil:
		return fmt.Errorf("running kubectl: %w", err)
	}
	return nil
}

// completeSamples completes the name of a sample.
func completeSamples(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := samples()
	if err != nil || len(args) > 0 {
		return nil, noFiles
	}
	var names []string
	for _, s := range all {
		names = append(names, described(s.name, s.shows))
	}
	return names, noFiles
}
