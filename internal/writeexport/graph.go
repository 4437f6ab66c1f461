package writeexport

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"minikcm.dev/minikcm"
)

// graph is writes, in the order of their revisions, and the edges from causes to effects.
type graph struct {
	nodes []minikcm.Write
	edges []edge
}

type edge struct {
	from, to int64
	// label says that the cause is a guess, and why; empty: the cause is recorded.
	label string
}

// graphOf returns the graph of a record. It has no edges from writes that the record has
// dropped.
func graphOf(writes []minikcm.Write) *graph {
	g := &graph{nodes: writes}
	known := make(map[int64]bool, len(writes))
	for i := range writes {
		known[writes[i].Revision] = true
	}
	for i := range writes {
		for _, cause := range writes[i].Causes {
			if known[cause] {
				g.edges = append(g.edges, edge{from: cause, to: writes[i].Revision})
			}
		}
	}
	return g
}

// graphOfExplanation returns the graph of an object's creation, last change and deletion with
// their causes.
func graphOfExplanation(e *minikcm.Explanation) *graph {
	g := &graph{}
	seen, drawn := map[int64]bool{}, map[edge]bool{}
	for _, link := range links(e) {
		if !seen[link.Revision] {
			seen[link.Revision] = true
			g.nodes = append(g.nodes, link.Write)
		}
		for _, cause := range link.Because {
			one := edge{from: cause.Revision, to: link.Revision}
			if cause.Inferred != "" {
				one.label = "probable: " + string(cause.Inferred)
			}
			if !drawn[one] {
				drawn[one] = true
				g.edges = append(g.edges, one)
			}
		}
	}
	slices.SortFunc(g.nodes, func(a, b minikcm.Write) int { return cmp.Compare(a.Revision, b.Revision) })
	return g
}

// links returns all links of an explanation, causes after their effects.
func links(e *minikcm.Explanation) []*minikcm.Link {
	var all []*minikcm.Link
	for _, link := range []*minikcm.Link{e.Creation, e.Change, e.Deletion} {
		if link != nil {
			all = append(all, link)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Because...)
	}
	return all
}

// lines are the lines of a node's text.
func lines(write *minikcm.Write) [2]string {
	object := write.Resource.Resource + "/" + write.Name
	if write.Namespace != "" {
		object = write.Namespace + " " + object
	}
	if write.Subresource != "" {
		object += " (" + write.Subresource + ")"
	}
	return [2]string{fmt.Sprintf("%d %s %s", write.Revision, write.Verb, object), "by " + write.Actor}
}

// DOT writes the record as a graph in Graphviz's language: an edge leads from a cause to its
// effect.
func DOT(w io.Writer, writes []minikcm.Write) error { return graphOf(writes).dot(w) }

// ExplanationDOT writes an explanation as a graph in Graphviz's language.
func ExplanationDOT(w io.Writer, e *minikcm.Explanation) error { return graphOfExplanation(e).dot(w) }

// ExplanationMermaid writes an explanation as a flowchart of Mermaid.
func ExplanationMermaid(w io.Writer, e *minikcm.Explanation) error {
	return graphOfExplanation(e).mermaid(w)
}

func (g *graph) dot(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "digraph writes {\n\trankdir=LR;\n\tnode [shape=box, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n")
	for i := range g.nodes {
		text := lines(&g.nodes[i])
		fmt.Fprintf(out, "\tr%d [label=%s];\n", g.nodes[i].Revision, dotQuote(text[0]+"\n"+text[1]))
	}
	for _, e := range g.edges {
		fmt.Fprintf(out, "\tr%d -> r%d", e.from, e.to)
		if e.label != "" {
			fmt.Fprintf(out, " [style=dashed, label=%s]", dotQuote(e.label))
		}
		fmt.Fprint(out, ";\n")
	}
	fmt.Fprint(out, "}\n")
	return flush(out)
}

func (g *graph) mermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "flowchart LR\n")
	for i := range g.nodes {
		text := lines(&g.nodes[i])
		fmt.Fprintf(out, "    r%d[\"%s<br/>%s\"]\n", g.nodes[i].Revision, mermaidEscape(text[0]), mermaidEscape(text[1]))
	}
	for _, e := range g.edges {
		if e.label == "" {
			fmt.Fprintf(out, "    r%d --> r%d\n", e.from, e.to)
		} else {
			fmt.Fprintf(out, "    r%d -. \"%s\" .-> r%d\n", e.from, mermaidEscape(e.label), e.to)
		}
	}
	return flush(out)
}

func flush(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the graph: %w", err)
	}
	return nil
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func dotQuote(text string) string { return `"` + dotEscapes.Replace(text) + `"` }

var mermaidEscapes = strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;")

func mermaidEscape(text string) string { return mermaidEscapes.Replace(text) }
