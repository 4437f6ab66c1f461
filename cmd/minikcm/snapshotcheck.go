package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/store"
)

func newSnapshotCheck() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "check FILE|DIR",
		Short: "Report what is damaged in a snapshot or a data directory",
		Long: `Read all of a snapshot, or of the data directory of a stopped cluster, and report the
damage in each layer: the hash of the snapshot, the pages of the database, the revisions
of the keys, the records of the write-ahead log, the index that connects both, and the
stored objects, whose checksums are verified. Nothing is changed. The exit code is 1 if
something is damaged. "minikcm etcd-snapshot repair" saves what is readable.`,
		Example: `  minikcm etcd-snapshot check before.db
  minikcm etcd-snapshot check ./cluster -o json`,
		Args: someArgs("the file of a snapshot, or a data directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return badInput{fmt.Errorf("%q takes one path, but got %q", cmd.CommandPath(), args)}
			}
			if output != "text" && output != "json" {
				return badInput{fmt.Errorf("--output=%s: must be text or json", output)}
			}
			if err := checkFile(args[0]); err != nil {
				return err
			}
			report, err := minikcm.CheckSnapshot(args[0])
			if err != nil {
				return err
			}
			print := printCheck
			if output == "json" {
				print = func(w io.Writer, report *store.CheckReport) error { return json.NewEncoder(w).Encode(report) }
			}
			if err := print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if !report.Healthy {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "output format: text or json")
	return cmd
}

// printCheck prints a table of the layers, and the damage behind it.
func printCheck(out io.Writer, report *store.CheckReport) error {
	var damage strings.Builder
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "LAYER\tSTATE\tDETAILS")
	for _, l := range report.Layers {
		state := "ok"
		if len(l.Problems) > 0 {
			state = "damaged"
			listDamage(&damage, l.Name, l.Problems, l.More)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", l.Name, state, strings.Join(append([]string{l.Summary}, l.Notes...), "; "))
	}
	var values []string
	for _, v := range report.Values {
		old := ""
		if !v.Current {
			old = ", not the newest"
		}
		values = append(values, fmt.Sprintf("%s (revision %d%s): %s", v.Key, v.Revision, old, v.Problem))
	}
	state := "ok"
	if len(values) > 0 {
		state = "damaged"
		listDamage(&damage, "stored objects", values, 0)
	}
	_, _ = fmt.Fprintf(table, "stored objects\t%s\t%s\n", state, "")
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, damage.String())
	return err
}

func listDamage(out *strings.Builder, name string, problems []string, more int) {
	fmt.Fprintf(out, "\n%s:\n", name)
	for _, p := range problems {
		fmt.Fprintf(out, "  %s\n", p)
	}
	if more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}
