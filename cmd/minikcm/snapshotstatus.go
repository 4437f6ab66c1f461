package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/store"
)

func newSnapshotStatus() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status FILE",
		Short: "Check a snapshot and print what it holds",
		Long: `status checks the hash and the pages of a snapshot and prints its newest revision, the
number of its keys, and its size. Each key is an object, but for a few of etcd's users.`,
		Example: `  minikcm etcd-snapshot status before.db`,
		Args:    someArgs("the file of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%q takes one file, but got %q", cmd.CommandPath(), args)
			}
			if output != "table" && output != "json" {
				return fmt.Errorf("--output=%s: must be table or json", output)
			}
			status, err := store.ReadSnapshotStatus(args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(status)
			}
			return printStatus(cmd, status)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func printStatus(cmd *cobra.Command, status store.SnapshotStatus) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "HASH\tREVISION\tTOTAL KEYS\tTOTAL SIZE\tSTORAGE VERSION")
	_, _ = fmt.Fprintf(table, "%08x\t%d\t%d\t%s\t%s\n", status.Hash, status.Revision, status.TotalKeys, size(status.TotalSize), cmp.Or(status.Version, "<none>"))
	return table.Flush()
}
