package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// maxRead limits an annotation that is read.
const maxRead = 256 << 10

// Print writes the explanation in the annotations of a pod as text, and nothing if there is none.
// Annotations that others have changed so that they cannot be read are an error.
func Print(w io.Writer, annotations map[string]string) error {
	if annotations[Decided] == "" {
		return nil
	}
	var decision Decision
	var filters, scores, finals map[string]map[string]string
	for name, into := range map[string]any{Decided: &decision, Filters: &filters, Scores: &scores, FinalScores: &finals} {
		value := cmp.Or(annotations[name], "{}")
		if len(value) > maxRead {
			return fmt.Errorf("the annotation %s has more than %d bytes", name, maxRead)
		}
		if err := json.Unmarshal([]byte(value), into); err != nil {
			return fmt.Errorf("reading the annotation %s: %w", name, err)
		}
	}
	selected := annotations[Selected]
	var b strings.Builder
	fmt.Fprintf(&b, "\nScheduling: %s\n", headline(selected, &decision))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, node := range byScore(filters, finals) {
		why := rejected(filters[node])
		if why == "" {
			why = scored(scores[node], finals[node])
		}
		mark := ""
		if node == selected {
			mark = "*"
		}
		fmt.Fprintf(table, "  %s%s\t%s\n", node, mark, why)
	}
	_ = table.Flush() // a Builder does not fail
	if decision.Shown < decision.Nodes {
		fmt.Fprintf(&b, "  and %d more nodes\n", decision.Nodes-decision.Shown)
	}
	decision.Preemption.print(&b)
	decision.GroupPreemption.print(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func headline(selected string, d *Decision) string {
	tried := fmt.Sprintf("%d of %d nodes tried", d.Nodes, d.Total)
	if selected != "" {
		return fmt.Sprintf("%s was chosen (%s)", selected, tried)
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(strings.TrimSuffix(d.Message, "."), "no node was chosen"), tried)
}

// rejected returns the plugin that excluded a node, and its reason; "": none did.
func rejected(filters map[string]string) string {
	for _, plugin := range slices.Sorted(maps.Keys(filters)) {
		if filters[plugin] != passed {
			return plugin + ": " + filters[plugin]
		}
	}
	return ""
}

// scored returns the weighted score of a node, and for each plugin its weighted and raw score.
func scored(scores, finals map[string]string) string {
	if len(finals) == 0 {
		return "fits; there was no other choice to score"
	}
	parts := make([]string, 0, len(finals))
	for _, plugin := range slices.Sorted(maps.Keys(finals)) {
		parts = append(parts, fmt.Sprintf("%s %s (raw %s)", plugin, finals[plugin], scores[plugin]))
	}
	return fmt.Sprintf("score %d = %s", total(finals), strings.Join(parts, " + "))
}

func total(finals map[string]string) (sum int64) {
	for _, value := range finals {
		n, _ := strconv.ParseInt(value, 10, 64) // what cannot be parsed is shown, and counts as 0
		sum += n
	}
	return sum
}

// byScore returns the nodes with the highest score first, then those without one, by name.
func byScore(filters, finals map[string]map[string]string) []string {
	return slices.SortedFunc(maps.Keys(filters), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(rejected(filters[a])), 0)-cmp.Compare(len(rejected(filters[b])), 0), cmp.Compare(total(finals[b]), total(finals[a])), strings.Compare(a, b))
	})
}

func (p *Preemption) print(b *strings.Builder) {
	if p == nil {
		return
	}
	fmt.Fprintf(b, "  Preemption frees %s, because of %s:\n", p.Node, p.Because)
	for i, c := range append([]Candidate{p.Candidate}, p.Others...) {
		word := "would delete"
		if i == 0 {
			word = "deletes"
		}
		fmt.Fprintf(b, "    %s: %s %s; %d violate a PodDisruptionBudget\n", c.Node, word, strings.Join(c.Victims, ", "), c.Violations)
	}
}

func (p *GroupPreemption) print(b *strings.Builder) {
	if p == nil {
		return
	}
	fmt.Fprintf(b, "  Preemption for the pod's PodGroup deletes %s", cmp.Or(strings.Join(p.Victims, ", "), "nothing"))
	if more := p.Total - len(p.Victims); more > 0 {
		fmt.Fprintf(b, " and %d more pods", more)
	}
	fmt.Fprintf(b, "; %d violate a PodDisruptionBudget\n", p.Violations)
	if p.Node != "" {
		fmt.Fprintf(b, "    the pod is nominated to %s\n", p.Node)
	}
}
