package writeexport

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"minikcm.dev/minikcm"
)

// Table writes a line of columns for each write, for people.
func Table(w io.Writer, writes []minikcm.Write) error {
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "REVISION\tTIME\tUSER\tVERB\tNAMESPACE\tOBJECT\tCAUSES") // Flush returns the error
	for i := range writes {
		write := &writes[i]
		object := write.Resource.Resource
		if write.Subresource != "" {
			object += "/" + write.Subresource
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s %s\t%s\n", write.Revision, write.Time.UTC().Format(time.RFC3339), write.Actor, write.Verb,
			write.Namespace, object, write.Name, revisions(write.Causes))
	}
	return table.Flush()
}

// Refusals writes a line of columns for each entry of refused requests, for people.
func Refusals(w io.Writer, refusals []minikcm.Refusal) error {
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "COUNT\tFIRST\tLAST\tUSER\tREQUESTS\tREFUSED\tCODE\tMESSAGE") // Flush returns the error
	for i := range refusals {
		r := &refusals[i]
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.Count, r.First.UTC().Format(time.RFC3339), r.Last.UTC().Format(time.RFC3339),
			r.Actor, r.What(), r.By, r.Code, r.Message)
	}
	return table.Flush()
}
