package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

const (
	// maxRows bounds a text's timeline; the middle is left out.
	maxRows = 200
	// sparkWidth is the width of the curves in a text, in characters.
	sparkWidth = 60
	maxListed  = 12
)

// Text writes the run for a terminal. It returns an error only if w does.
func Text(w io.Writer, run *runrecord.Run) error {
	var b strings.Builder
	b.WriteString(Headline(run) + "\n")
	if run.ExpectedFailure != "" {
		b.WriteString("It failed as expected: " + oneLine(run.ExpectedFailure) + "\n")
	}
	if text := run.ReproducibleText(); text != "" {
		b.WriteString(text + "\n")
	}
	b.WriteString("\nTimeline\n")
	writeTimeline(&b, timeline(run))
	writeTraffic(&b, run)
	writePods(&b, run)
	writeControllers(&b, run)
	writeReasons(&b, run)
	writeRefusals(&b, run)
	if len(run.Failures) > 0 {
		b.WriteString("\nWhat failed\n")
		writeFailures(&b, run, "  ")
	}
	if lines := unexpected(run); len(lines) > 0 {
		b.WriteString("\nNot as expected in the end\n")
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if t := run.Totals; t.ForgottenWrites+t.ForgottenEvents > 0 {
		fmt.Fprintf(&b, "\nThe record has no room for %d writes and %d events between the oldest and the newest.\n", t.ForgottenWrites, t.ForgottenEvents)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Headline is the run in one line.
func Headline(run *runrecord.Run) string {
	return fmt.Sprintf("%s %s: %s of the cluster's time in %s, seed %d", verdictWord(run.Verdict), run.Scenario.Name,
		length(run.Cluster), length(run.Real), run.Scenario.Seed)
}

func verdictWord(v runrecord.Verdict) string {
	switch v {
	case runrecord.Passed:
		return "PASS"
	case runrecord.Failed:
		return "FAIL"
	}
	return "INTERRUPTED"
}

// Failures writes what failed, with its differences and causes; nothing if nothing
// did. The error is w's.
func Failures(w io.Writer, run *runrecord.Run) error {
	var b strings.Builder
	writeFailures(&b, run, "")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeTimeline(b *strings.Builder, rows []row) {
	for i, r := range rows {
		if len(rows) > maxRows && i == maxRows*3/4 {
			fmt.Fprintf(b, "  … %d lines are left out\n", len(rows)-maxRows)
		}
		if len(rows) > maxRows && i >= maxRows*3/4 && i < len(rows)-maxRows/4 {
			continue
		}
		fmt.Fprintf(b, "  %s  %s%s %s", offset(r.at), strings.Repeat("  ", r.depth), mark(r), r.text)
		if r.detail != "" {
			fmt.Fprintf(b, "  %s", oneLine(r.detail))
		}
		b.WriteByte('\n')
	}
}

// mark returns the sign of a row's kind.
func mark(r row) string {
	switch {
	case r.failed:
		return "✗"
	case r.end:
		return "✓"
	}
	switch r.kind {
	case "fault":
		return "⚡"
	case "note":
		return "·"
	case "event":
		return "•"
	case "warning":
		return "!"
	}
	return "▶"
}

// phases returns the phases of the run's pods, in the order in which a pod passes through them.
func phases(run *runrecord.Run) []runrecord.Phase {
	order := []runrecord.Phase{runrecord.Pending, runrecord.Running, runrecord.Ready, runrecord.Terminating, runrecord.Succeeded, runrecord.FailedPhase}
	found := slices.Collect(maps.Keys(run.Pods.Phases))
	slices.SortFunc(found, func(a, b runrecord.Phase) int {
		return cmp.Or(cmp.Compare(position(order, a), position(order, b)), cmp.Compare(a, b))
	})
	return found
}

func position(order []runrecord.Phase, p runrecord.Phase) int {
	if i := slices.Index(order, p); i >= 0 {
		return i
	}
	return len(order)
}

func writePods(b *strings.Builder, run *runrecord.Run) {
	if len(run.Pods.Phases) == 0 {
		return
	}
	fmt.Fprintf(b, "\nPods (%d came, %d went)\n", run.Totals.PodsCreated, run.Totals.PodsDeleted)
	for _, p := range phases(run) {
		c := run.Pods.Phases[p]
		fmt.Fprintf(b, "  %-12s%s  %d to %d, in the end %d\n", p, spark(c), slices.Min(c.Min), slices.Max(c.Max), c.Last[len(c.Last)-1])
	}
}

// spark draws a curve with characters, one for each part of the time. It shows the greatest value
// in the part, or the least one if the curve dips within the part, as Ready does when pods fail.
func spark(c runrecord.Curve) string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	top := max(slices.Max(c.Max), 1)
	var b strings.Builder
	width := min(sparkWidth, len(c.Max))
	for i := range width {
		from, to := i*len(c.Max)/width, (i+1)*len(c.Max)/width
		value := slices.Max(c.Max[from:to])
		if low := slices.Min(c.Min[from:to]); from > 0 && c.Last[from-1] > low && c.Last[to-1] > low {
			value = low
		}
		b.WriteRune(blocks[(value*(len(blocks)-1)+top-1)/top])
	}
	return b.String()
}

func writeControllers(b *strings.Builder, run *runrecord.Run) {
	if len(run.Controllers) == 0 {
		return
	}
	b.WriteString("\nWho did how much\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "  writes\treconciles\tfailures\t  ")
	for i, c := range run.Controllers {
		if i == maxListed {
			_, _ = fmt.Fprintf(w, "  \t\t\t  and %d more\n", len(run.Controllers)-maxListed)
			break
		}
		_, _ = fmt.Fprintf(w, "  %d\t%d\t%d\t  %s\n", total(c.Writes), total(c.Reconciles), total(c.Failures), c.Name)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func writeReasons(b *strings.Builder, run *runrecord.Run) {
	if len(run.Totals.ByReason) == 0 {
		return
	}
	reasons := slices.SortedFunc(maps.Keys(run.Totals.ByReason), func(x, y string) int {
		return cmp.Or(cmp.Compare(run.Totals.ByReason[y], run.Totals.ByReason[x]), cmp.Compare(x, y))
	})
	var texts []string
	for i, reason := range reasons {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("%d more", len(reasons)-maxListed))
			break
		}
		texts = append(texts, fmt.Sprintf("%s %d", reason, run.Totals.ByReason[reason]))
	}
	fmt.Fprintf(b, "\nEvents: %s\n", strings.Join(texts, ", "))
}

// writeRefusals lists the refused requests, the most frequent first.
func writeRefusals(b *strings.Builder, run *runrecord.Run) {
	if len(run.Refusals) == 0 {
		return
	}
	b.WriteString("\nRefused\n")
	for i, r := range refusals(run) {
		if i == maxListed {
			fmt.Fprintf(b, "  and %d more\n", len(run.Refusals)-maxListed)
			break
		}
		fmt.Fprintf(b, "  %s\n", refusalLine(run, &r))
	}
}

// refusalLine says which requests were refused, from when to when, and why.
func refusalLine(run *runrecord.Run, r *minikcm.Refusal) string {
	when := "at " + offset(r.First.Sub(run.Start))
	if r.Count > 1 {
		when = offset(r.First.Sub(run.Start)) + " to " + offset(r.Last.Sub(run.Start))
	}
	return fmt.Sprintf("%s, %s, by %s: %s", r.Sentence(), when, r.Writer(), oneLine(r.Message))
}

func refusals(run *runrecord.Run) []minikcm.Refusal {
	return slices.SortedStableFunc(slices.Values(run.Refusals), func(x, y minikcm.Refusal) int { return cmp.Compare(y.Count, x.Count) })
}

func writeFailures(b *strings.Builder, run *runrecord.Run, indent string) {
	for _, f := range run.Failures {
		fmt.Fprintf(b, "%s%s  %s\n", indent, offset(f.At), indented(f.Message, indent+"    "))
		for _, line := range f.Diff {
			if strings.Contains(f.Message, line) {
				continue // the message has it already
			}
			fmt.Fprintf(b, "%s    %s\n", indent, indented(line, indent+"    "))
		}
		for _, cause := range f.Causes {
			fmt.Fprintf(b, "%s    Why: %s\n", indent, indented(strings.TrimSpace(cause), indent+"    "))
		}
	}
	if len(run.Failures) == 0 && run.Message != "" {
		fmt.Fprintf(b, "%s%s  %s\n", indent, offset(time.Duration(run.Cluster)), indented(run.Message, indent+"    "))
	}
}

func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }
