package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/store"
)

// repairFlags are the flags of "etcd-snapshot repair".
type repairFlags struct {
	dataDir, output string
	yes             bool
}

func newSnapshotRepair() *cobra.Command {
	var flags repairFlags
	cmd := &cobra.Command{
		Use:   "repair FILE|DIR",
		Short: "Save what is readable in a damaged snapshot or data directory",
		Long: `Make a new data directory of what is readable in a damaged snapshot, or in the damaged data
directory of a stopped cluster, and list what is lost. The original is not changed. Prefer
"minikcm etcd-snapshot restore" if there is a recent snapshot: the repaired cluster lacks
what is listed, and an object may have an earlier state. Without --yes, the command first
prints the damage and asks.`,
		Example: `  minikcm etcd-snapshot repair ./cluster --data-dir ./repaired
  minikcm up --data-dir ./repaired`,
		Args: someArgs("the file of a snapshot, or a data directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return badInput{fmt.Errorf("%q takes one path, but got %q", cmd.CommandPath(), args)}
			case flags.dataDir == "":
				return badInput{errors.New("--data-dir is missing: give the directory to create")}
			case flags.output != "text" && flags.output != "json":
				return badInput{fmt.Errorf("--output=%s: must be text or json", flags.output)}
			}
			return flags.repair(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&flags.dataDir, "data-dir", "", "the data directory to create")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do not ask")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "text", "output format: text or json")
	return cmd
}

func (f *repairFlags) repair(cmd *cobra.Command, path string) error {
	if !f.yes {
		if err := f.ask(cmd, path); err != nil {
			return err
		}
	}
	report, err := minikcm.RepairSnapshot(cmd.Context(), path, f.dataDir)
	if err != nil {
		return err
	}
	report.Path, report.DataDir = path, f.dataDir
	if f.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	}
	return printRepair(cmd.OutOrStdout(), report)
}

// ask prints the damage and returns an error unless the user agrees to the repair.
func (f *repairFlags) ask(cmd *cobra.Command, path string) error {
	report, err := minikcm.CheckSnapshot(path)
	if err != nil {
		return err
	}
	if err := printCheck(cmd.ErrOrStderr(), report); err != nil {
		return err
	}
	question := fmt.Sprintf("\nSave what is readable to %s? [y/N] ", f.dataDir)
	if report.Healthy {
		question = fmt.Sprintf("\nNothing is damaged. Copy it to %s nevertheless? [y/N] ", f.dataDir)
	}
	if _, err := io.WriteString(cmd.ErrOrStderr(), question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 1024)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return badInput{errors.New("nothing was done: answer with y, or give --yes")}
	}
	return nil
}

func printRepair(out io.Writer, report *store.RepairReport) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Saved %s of %s to %s", count(report.Keys, "key"), report.Path, report.DataDir)
	if report.Found > 0 {
		fmt.Fprintf(&text, ", %s from pages that nothing refers to any more", count(report.Found, "revision"))
	}
	if report.Replayed > 0 {
		fmt.Fprintf(&text, ", and repeated %s of the write-ahead log", count(report.Replayed, "write"))
	}
	text.WriteString(".\n")
	if len(report.Lost) > 0 {
		text.WriteString("Lost or damaged:\n")
	}
	for _, l := range report.Lost {
		fmt.Fprintf(&text, "  %s\n", l)
	}
	fmt.Fprintf(&text, "Start the cluster with: minikcm up --data-dir %s\n", shellQuote(report.DataDir))
	_, err := io.WriteString(out, text.String())
	return err
}
