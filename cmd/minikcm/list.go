package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"minikcm.dev/minikcm/clock"
)

func newList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the running clusters on this machine",
		Long: `List the clusters that "minikcm up" runs for the current user, with their addresses and
kubeconfigs.`,
		Example: `  minikcm list
  minikcm list -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("--output=%s: must be json or omitted", output)
			}
			all, err := runningClusters()
			if err != nil {
				return err
			}
			slices.SortFunc(all, func(a, b runningCluster) int { return cmp.Or(a.Started.Compare(b.Started), a.PID-b.PID) })
			if output == "json" {
				data, err := json.MarshalIndent(all, "", "    ")
				return write(cmd.OutOrStdout(), append(data, '\n'), err)
			}
			return printClusters(cmd.OutOrStdout(), cmd.ErrOrStderr(), all)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json (default text)")
	return cmd
}

func printClusters(out, errOut io.Writer, all []runningCluster) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(errOut, `No cluster is running. "minikcm up" starts one.`)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "SERVER\tKUBECONFIG\tPID\tAGE\tDATA-DIR")
	now := clock.Real().Now()
	for _, c := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", c.Server, c.Kubeconfig, c.PID, duration.HumanDuration(now.Sub(c.Started)), cmp.Or(c.DataDir, "-"))
	}
	return w.Flush()
}
