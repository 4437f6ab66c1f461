package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/examples"
	"minikcm.dev/minikcm/internal/spell"
)

func newExample() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "example [NAME]",
		Short: "Run a small program on client-go, to learn from",
		Long: `Run a program of the folder examples: a client, a watch, an informer or a controller of a
page or two. It is the same program that "go run" builds there, for those who have no Go at
hand. Ctrl-C ends it. Without a name, list the programs.`,
		Example: `  minikcm example
  minikcm example podinformer`,
		Args:              atMostOneArg("at most the name of an example"),
		ValidArgsFunction: completeExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listExamples(cmd.OutOrStdout())
			}
			return runExample(cmd.Context(), args[0], kubeconfig)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	return cmd
}

func listExamples(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tDOES") // Flush returns the error
	for _, program := range examples.Programs() {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", program.Name, program.Shows)
	}
	return table.Flush()
}

func runExample(ctx context.Context, name, kubeconfig string) error {
	program, err := exampleNamed(name)
	if err != nil {
		return badInput{err}
	}
	config, err := clientConfig(ctx, kubeconfig)
	if err != nil {
		return err
	}
	// What the program's own configuration would have, if it was built by itself.
	config.ContentConfig, config.QPS = rest.ContentConfig{}, 0
	config.UserAgent = program.Name
	if err := program.Run(ctx, config); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func exampleNamed(name string) (examples.Program, error) {
	var names []string
	for _, program := range examples.Programs() {
		if program.Name == name {
			return program, nil
		}
		names = append(names, program.Name)
	}
	if meant := spell.Nearest(name, names); meant != "" {
		return examples.Program{}, fmt.Errorf("there is no example %q; did you mean %s?", name, meant)
	}
	return examples.Program{}, fmt.Errorf("there is no example %q; there are %s", name, strings.Join(names, ", "))
}
