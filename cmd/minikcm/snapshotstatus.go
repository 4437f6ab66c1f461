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
		Short: "Verify a snapshot and print its size and revision",
		Long: `Verify the hash and the pages of a snapshot, and print its latest revision, number of keys
and size. Each key is an object, except for a few bookkeeping keys.`,
		Example: `  minikcm etcd-snapshot status before.db`,
		Args:    someArgs("the file of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return badInput{fmt.Errorf("%q takes one file, but got %q", cmd.CommandPath(), args)}
			}
			if output != "table" && output != "json" {
				return badInput{fmt.Errorf("--output=%s: must be table or json", output)}
			}
			if err := checkFile(args[0]); err != nil {
				return err
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
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table or json")
	return cmd
}

func printStatus(cmd *cobra.Command, status store.SnapshotStatus) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "HASH\tREVISION\tTOTAL KEYS\tTOTAL SIZE\tSTORAGE VERSION")
	_, _ = fmt.Fprintf(table, "%08x\t%d\t%d\t%s\t%s\n", status.Hash, status.Revision, status.TotalKeys, size(status.TotalSize), cmp.Or(status.Version, "<none>"))
	return table.Flush()
}
