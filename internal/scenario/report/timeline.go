package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// row is a line of a timeline.
type row struct {
	at time.Duration
	// kind is step, fault, check, note, event or warning; end says that the line is
	// about the end of something.
	kind   string
	end    bool
	failed bool
	text   string
	// detail is shown less prominently.
	detail string
	depth  int
	// revision and order are for what happened at one instant.
	revision int64
	order    int
}

// timeline is everything that happened, in its order; what happened at once to several
// objects is one row.
func timeline(run *runrecord.Run) []row {
	var rows []row
	add := func(r row) {
		r.order = len(rows)
		rows = append(rows, r)
	}
	for i := range run.Spans {
		s := &run.Spans[i]
		depth := depthOf(run, i)
		add(row{at: s.Begin, kind: string(s.Kind), text: s.Title, depth: depth, revision: s.BeginRevision})
		for _, n := range s.Notes {
			add(row{at: n.At, kind: "note", text: n.Text, depth: depth + 1, revision: n.Revision})
		}
		if s.Failure != "" || s.End > s.Begin {
			add(row{at: max(s.End, s.Begin), kind: string(s.Kind), end: true, failed: s.Failure != "", text: s.Title, detail: s.Failure, depth: depth, revision: s.EndRevision})
		}
	}
	for _, r := range eventRows(run.Events) {
		add(r)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.revision, b.revision), cmp.Compare(a.order, b.order))
	})
	return rows
}

func depthOf(run *runrecord.Run, i int) (depth int) {
	for p := run.Spans[i].Parent; p >= 0 && depth < len(run.Spans); p = run.Spans[p].Parent {
		depth++
	}
	return depth
}

// eventRows joins events of one reason and kind of object that came within a second.
func eventRows(events []runrecord.Event) []row {
	type group struct {
		first   runrecord.Event
		names   []string
		objects map[string]bool
	}
	var groups []*group
	open := map[string]*group{}
	for _, e := range events {
		key := e.Type + "/" + e.Reason + "/" + e.Object.Kind + "/" + e.Component
		g := open[key]
		if g == nil || e.At-g.first.At > time.Second {
			g = &group{first: e, objects: map[string]bool{}}
			open[key] = g
			groups = append(groups, g)
		}
		if !g.objects[e.Object.Name] {
			g.objects[e.Object.Name] = true
			g.names = append(g.names, e.Object.Name)
		}
	}
	var rows []row
	for _, g := range groups {
		r := row{at: g.first.At, kind: "event", text: g.first.Reason, detail: oneLine(g.first.Message), depth: 1, revision: g.first.Revision}
		if g.first.Type == "Warning" {
			r.kind = "warning"
		}
		kind := strings.ToLower(g.first.Object.Kind)
		switch {
		case len(g.names) == 1:
			r.text += " " + kind + "/" + g.names[0]
		case r.kind == "warning": // why is more than of which
			r.text += fmt.Sprintf(" %d × %s", len(g.names), kind)
			r.detail = strings.TrimSuffix(r.detail, ".") + ": " + few(g.names)
		default:
			r.text += fmt.Sprintf(" %d × %s", len(g.names), kind)
			r.detail = few(g.names)
		}
		if g.first.Component != "" {
			r.detail += " (" + g.first.Component + ")"
		}
		rows = append(rows, r)
	}
	return rows
}

// few names some of many.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + ", …"
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// offset is a time since the start as a clock shows it.
func offset(d time.Duration) string {
	d = d.Round(time.Millisecond)
	days, d := d/(24*time.Hour), d%(24*time.Hour)
	text := fmt.Sprintf("%02d:%02d:%02d.%03d", d/time.Hour, d/time.Minute%60, d/time.Second%60, d/time.Millisecond%1000)
	if days > 0 {
		return fmt.Sprintf("%dd %s", days, text)
	}
	return text
}

// length is a duration as people read it.
func length(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
