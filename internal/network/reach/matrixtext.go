package reach

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text returns the matrix for people: a row for each source. The columns have the numbers of the rows. A cell has the ports that are
// reached; without one, "denied" if policies deny one, or "-"; and nothing where no connection is asked about. In a matrix of namespaces, it
// has "yes" if all connections arrive, and otherwise how many do.
func (m *Matrix) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "#\tNAMESPACE\tFROM")
	for i := range m.Ends {
		fmt.Fprintf(w, "\t%d", i+1)
	}
	fmt.Fprintln(w)
	for i, end := range m.Ends {
		fmt.Fprintf(w, "%d\t%s\t%s", i+1, end.Namespace, end.label())
		for k := range m.Ends {
			fmt.Fprintf(w, "\t%s", m.Cells[i][k].Summary())
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder does not fail
	var text strings.Builder
	for line := range strings.Lines(b.String()) {
		text.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	m.explain(&text)
	return text.String()
}

// explain adds what the columns and the cells mean, as far as they are in the matrix.
func (m *Matrix) explain(text *strings.Builder) {
	words := map[string]string{
		denied: "denied: NetworkPolicies deny the ports that the destination declares", "-": "-: nothing listens there, or nothing arrives for another reason",
		"yes": "yes: all connections arrive", "n/m": "2/4: two of four connections arrive",
	}
	shown := map[string]bool{}
	for i := range m.Cells {
		for k := range m.Cells[i] {
			summary := m.Cells[i][k].Summary()
			if strings.Contains(summary, "/") {
				summary = "n/m"
			}
			shown[summary] = true
		}
	}
	text.WriteString("\nA row is a source; the columns are the destinations, with the numbers of the rows. A cell has the ports that are reached.\n")
	for _, summary := range []string{denied, "-", "yes", "n/m"} {
		if shown[summary] {
			text.WriteString(words[summary] + "\n")
		}
	}
}

const (
	// outside is the name of what is no workload.
	outside = "outside"
	// denied is the summary of connections that policies deny.
	denied = "denied"
)

// label names the end beside its namespace.
func (e *MatrixEnd) label() string {
	switch {
	case e.Namespace == "":
		return outside
	case e.Name == "":
		return "*"
	}
	return e.Name
}

// Label names the end.
func (e *MatrixEnd) Label() string {
	switch {
	case e.Namespace == "":
		return outside
	case e.Name == "":
		return e.Namespace
	}
	return e.Namespace + "/" + e.Name
}

// Summary returns the cell in one word.
func (cell *Cell) Summary() string {
	reached, lost := len(cell.Reached), len(cell.Denied)
	switch {
	case reached+lost == 0:
		return ""
	case reached == 0 && slices.ContainsFunc(cell.Denied, func(d Denied) bool { return len(d.Policies) > 0 }):
		return denied
	case reached == 0:
		return "-"
	case !strings.Contains(cell.Reached[0], ":"):
		return strings.Join(cell.Reached, ",")
	case lost == 0:
		return "yes"
	}
	return strconv.Itoa(reached) + "/" + strconv.Itoa(reached+lost)
}

// Class says whether all or some of the connections of the cell arrive, or policies deny them ("none"); empty if nothing is there.
func (cell *Cell) Class() string {
	switch summary := cell.Summary(); {
	case summary == "" || summary == "-":
		return ""
	case summary == denied:
		return "none"
	case len(cell.Denied) == 0:
		return "all"
	}
	return "some"
}

// Reasons says of each connection of the cell whether it arrives, or why not, a line each.
func (cell *Cell) Reasons() string {
	var lines []string
	for _, port := range cell.Reached {
		lines = append(lines, port+": reached")
	}
	for _, d := range cell.Denied {
		line := d.Port + ": " + d.Why
		switch {
		case len(d.Reasons) > 0:
			line += " (" + strings.Join(d.Reasons, "; ") + ")"
		case len(d.Policies) > 0:
			line += " (" + strings.Join(d.Policies, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
