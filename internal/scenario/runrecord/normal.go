package runrecord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm"
)

// Normalise returns the course of a run as lines, to compare it with another run of the same
// scenario and seed: decisions, and their times in the cluster. It leaves out what may
// differ: revisions, causes, the machine's times, heartbeats, the names of Events, and the
// order of writes at one instant, which several controllers make side by side. A write that
// is repeated at one instant is there once.
func Normalise(run *Run) []string {
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for _, s := range run.Spans {
		lines = append(lines, line{s.Begin, fmt.Sprintf("%s %s begins", s.Kind, s.Title)})
		for _, n := range s.Notes {
			lines = append(lines, line{n.At, "note: " + n.Text})
		}
		end := "ends"
		if s.Failure != "" {
			end = "fails"
		}
		if s.End >= 0 {
			lines = append(lines, line{s.End, fmt.Sprintf("%s %s %s", s.Kind, s.Title, end)})
		}
	}
	for i := range run.Writes {
		if text, relevant := normalWrite(&run.Writes[i]); relevant {
			lines = append(lines, line{run.Writes[i].Time.Sub(run.Start), text})
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at.Truncate(time.Millisecond), b.at.Truncate(time.Millisecond)), strings.Compare(a.text, b.text))
	})
	out := []string{fmt.Sprintf("%s, seed %d: %s", run.Scenario.Name, run.Scenario.Seed, run.Verdict)}
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%v %s", l.at.Truncate(time.Millisecond), l.text))
	}
	return slices.Compact(out)
}

// normalWrite returns a write as a line. relevant is false for heartbeats and Events.
func normalWrite(w *minikcm.Write) (text string, relevant bool) {
	if w.Resource.Resource == "leases" || w.Resource.Resource == "events" {
		return "", false
	}
	resource := w.Resource.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	name := w.Name
	if w.Namespace != "" {
		name = w.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s %s", w.Writer(), cmp.Or(string(w.Effect), w.Verb), resource, name), true
}

// FirstDifference returns the first lines in which two normalised runs differ, with some
// lines of context; empty if the runs are the same.
func FirstDifference(a, b []string) string {
	const before, after = 3, 3
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) && i == len(b) {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "the runs part at line %d of %d and %d\n", i+1, len(a), len(b))
	for _, line := range a[max(i-before, 0):i] {
		fmt.Fprintf(&out, "  %s\n", line)
	}
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"-", a}, {"+", b}} {
		for _, line := range side.lines[i:min(i+after, len(side.lines))] {
			fmt.Fprintf(&out, "%s %s\n", side.sign, line)
		}
		if i == len(side.lines) {
			fmt.Fprintf(&out, "%s (nothing more)\n", side.sign)
		}
	}
	return out.String()
}
