package main

import (
	_ "embed" // the page's template
	"fmt"
	"html/template"
	"io"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/kubeletsim"
)

// reachMatrix runs minikcm reach --matrix.
func reachMatrix(cmd *cobra.Command, f *reachFlags, ask *reach.MatrixAsk) error {
	print := map[string]func(io.Writer, *reach.Matrix) error{
		"":     func(w io.Writer, m *reach.Matrix) error { _, err := io.WriteString(w, m.Text()); return err },
		"json": func(w io.Writer, m *reach.Matrix) error { return printJSON(w, m) },
		"html": matrixHTML,
	}[f.output]
	if print == nil {
		return badInput{fmt.Errorf("--output=%s: must be json or html, or omitted", f.output)}
	}
	m, err := askReach(cmd, f, ask, kubeletsim.ReachMatrixIn, reachapi.MatrixPath, reachapi.GetMatrix)
	if err != nil {
		return err
	}
	return print(cmd.OutOrStdout(), m)
}

//go:embed reachmatrix.html.tmpl
var matrixTemplate string

// matrixHTML writes a page with a matrix. It refers to no other file and runs no script.
func matrixHTML(w io.Writer, m *reach.Matrix) error {
	page, err := template.New("matrix").Parse(matrixTemplate)
	if err != nil {
		return fmt.Errorf("reading the template of the matrix: %w", err)
	}
	if err := page.Execute(w, m); err != nil {
		return fmt.Errorf("writing the matrix: %w", err)
	}
	return nil
}
