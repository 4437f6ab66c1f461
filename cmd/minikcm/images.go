package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/kubeletsim"
)

func newImages() *cobra.Command {
	var catalog, output string
	cmd := &cobra.Command{
		Use:   "images [NAME...]",
		Short: "List the images whose answers are known",
		Long: `List the catalog of image profiles: images that many clusters use, with what their
containers answer. A profile of your own for the same image, a ConfigMap with the label
minikcm.dev/image, takes the place of the catalog's. Arguments select profiles by name.`,
		Example: `  minikcm images
  minikcm images nginx -o yaml
  minikcm images --image-catalog ours.yaml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			text, err := readCatalog(catalog)
			if err != nil {
				return badInput{err}
			}
			all, err := kubeletsim.ImageCatalog(text)
			if err != nil {
				return badInput{fmt.Errorf("--image-catalog: %w", err)}
			}
			if all, err = chosenImages(all, names); err != nil {
				return badInput{err}
			}
			switch output {
			case "":
				return printImages(cmd.OutOrStdout(), all)
			case "json":
				return printJSON(cmd.OutOrStdout(), all)
			case "yaml":
				return printYAML(cmd.OutOrStdout(), all)
			}
			return badInput{fmt.Errorf("--output=%s: must be json or yaml, or omitted", output)}
		},
	}
	cmd.Flags().StringVar(&catalog, "image-catalog", "", "list the profiles of this file instead, as \"minikcm up\" would use them")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml (default a table)")
	return cmd
}

// chosenImages returns the profiles of these names; all if there are none.
func chosenImages(all []kubeletsim.CatalogEntry, names []string) ([]kubeletsim.CatalogEntry, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []kubeletsim.CatalogEntry
next:
	for _, name := range names {
		for i := range all {
			if all[i].Name == name {
				chosen = append(chosen, all[i])
				continue next
			}
		}
		return nil, fmt.Errorf("the catalog has no profile %q: \"minikcm images\" lists them", name)
	}
	return chosen, nil
}

func printImages(w io.Writer, all []kubeletsim.CatalogEntry) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tLISTENS\tIMAGES") // Flush returns the error
	for _, e := range all {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", e.Name, e.Listens, strings.Join(e.Images, ", "))
	}
	return table.Flush()
}
