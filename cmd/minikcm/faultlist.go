package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

func newFaultList(f *faultFlags) *cobra.Command {
	var all bool
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the faults of a running cluster",
		Long: `List the faults that are not over, oldest first: their age and remaining time on the
cluster's clock, how often they have happened, and what they did last.`,
		Example: `  minikcm fault list
  minikcm fault list --all -o yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "json", "yaml"}, output) {
				return badInput{fmt.Errorf("--output=%s: must be json or yaml, or omitted", output)}
			}
			client, err := f.client(cmd.Context())
			if err != nil {
				return err
			}
			list, err := client.List(cmd.Context())
			if err != nil {
				return err
			}
			if !all {
				list.Items = slices.DeleteFunc(list.Items, func(i faultapi.Injection) bool { return i.State.Done() })
			}
			return printFaults(cmd.OutOrStdout(), list, output)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list the most recent faults that are over")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml (default text)")
	return cmd
}

func printFaults(w io.Writer, list *faultapi.List, output string) error {
	switch output {
	case "json":
		return printJSON(w, list)
	case "yaml":
		return printYAML(w, list)
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, "There are no faults.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tSTATE\tAGE\tLEFT\tTIMES\tFAULT\tLAST")
	for i := range list.Items {
		one := &list.Items[i]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", one.ID, one.State, duration.HumanDuration(list.Now.Sub(one.Since)), left(one, list.Now), one.Times, one.Title, lastOf(one))
	}
	return table.Flush()
}

// left returns the remaining time of a fault.
func left(i *faultapi.Injection, now time.Time) string {
	switch {
	case i.State.Done():
		return "-"
	case i.Until == nil:
		return "unlimited"
	}
	return duration.HumanDuration(max(i.Until.Sub(now), 0))
}

// lastOf returns the last note of a fault, or its error if it failed.
func lastOf(i *faultapi.Injection) string {
	switch {
	case i.Error != "":
		return i.Error
	case len(i.Notes) > 0:
		return i.Notes[len(i.Notes)-1].Text
	}
	return "-"
}

func newFaultStop(f *faultFlags) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "stop ID...|--all",
		Short: "Stop faults and revert their effects",
		Long: `Stop faults, and return once their effects are reverted. "minikcm fault list" shows the
IDs.`,
		Example: `  minikcm fault stop f-1
  minikcm fault stop --all`,
		ValidArgsFunction: completeFaultIDs,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("give the IDs of the faults to stop (\"minikcm fault list\" shows them), or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			client, err := f.client(cmd.Context())
			if err != nil {
				return err
			}
			if all {
				if ids, err = running(cmd.Context(), client); err != nil {
					return err
				}
			}
			return stopFaults(cmd.Context(), cmd.OutOrStdout(), client, ids)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop all faults")
	return cmd
}

// running returns the IDs of the faults that are not over, newest first.
func running(ctx context.Context, client *faultapi.Client) ([]string, error) {
	list, err := client.List(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range slices.Backward(list.Items) {
		if !list.Items[i].State.Done() {
			ids = append(ids, list.Items[i].ID)
		}
	}
	return ids, nil
}

// stopFaults stops the faults. It continues after a failure and returns all errors.
func stopFaults(ctx context.Context, w io.Writer, client *faultapi.Client, ids []string) error {
	if len(ids) == 0 {
		_, err := fmt.Fprintln(w, "There are no faults.")
		return err
	}
	var failures []error
	unknown := 0
	for _, id := range ids {
		switch stopped, err := client.Stop(ctx, id); {
		case err != nil:
			failures = append(failures, err)
			if errors.As(err, new(*faultapi.UnknownError)) {
				unknown++
			}
		case stopped.State == faultapi.Failed:
			failures = append(failures, fmt.Errorf("the fault %s (%s): %s", id, stopped.Title, stopped.Error))
		default:
			_, _ = fmt.Fprintf(w, "%s (%s): %s\n", id, stopped.Title, stopped.State)
		}
	}
	if unknown == len(ids) {
		return badInput{errors.Join(failures...)} // nothing was done
	}
	return errors.Join(failures...)
}
