package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

func writeTraffic(b *strings.Builder, run *runrecord.Run) {
	if len(run.Traffic) == 0 {
		return
	}
	b.WriteString("\nTraffic\n")
	for i := range run.Traffic {
		for _, line := range TrafficLines(&run.Traffic[i]) {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
}

// TrafficLines says what became of the requests of a route, in lines of which all but the first are indented.
func TrafficLines(t *runrecord.Traffic) []string {
	lines := []string{fmt.Sprintf("%s: %s, %d failed%s", t.Name, counted(t.Requests, "request"), t.Failed, percentOf(t.Failed, t.Requests))}
	if t.Succeeded > 0 {
		lines[0] += fmt.Sprintf("; p50 %s, p95 %s, p99 %s", brief(t.P50), brief(t.P95), brief(t.P99))
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, warning := range t.Warnings {
		add("  ! %s", warning)
	}
	explained := map[explanation]bool{}
	for _, f := range t.Failures {
		place := ""
		if f.Where != "" {
			place = ", " + f.Where
		}
		add("  %6d  %s%s, %s", f.Requests, f.Cause, place, spanText(f.First, f.Last))
		for _, note := range f.Because {
			if of := (explanation{f.Where, note}); !explained[of] {
				explained[of] = true
				add("          %s  %s", offset(note.At), note.Text)
			}
		}
	}
	if t.Others > 0 {
		add("  %6d  at further places", t.Others)
	}
	if t.Retries+t.Withheld > 0 {
		more := ""
		if t.Withheld > 0 {
			more = fmt.Sprintf(", and %d more that the budget did not allow", t.Withheld)
		}
		add("  %s%s", counted(t.Retries, "retry", "retries"), more)
	}
	if open := t.Requests - t.Succeeded - t.Failed; open > 0 {
		add("  %s no end yet", counted(open, "request has", "requests have"))
	}
	for _, o := range t.Objectives {
		mark := "✓"
		if !o.Met {
			mark = "✗"
		}
		add("  %s %s: %s", mark, o.Text, o.Got)
	}
	return lines
}

// explanation is a line about a place.
type explanation struct {
	where string
	note  runrecord.Note
}

// counted returns a number with a noun.
func counted(n int64, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func percentOf(part, all int64) string {
	if part == 0 || all == 0 {
		return ""
	}
	percent := float64(part) / float64(all) * 100
	digits := 1
	if percent < 10 {
		digits = max(0, 1-int(math.Floor(math.Log10(percent))))
	}
	text := strconv.FormatFloat(percent, 'f', digits, 64)
	for ; part < all && strings.HasPrefix(text, "100"); digits++ { // nearly all are not all
		text = strconv.FormatFloat(percent, 'f', digits, 64)
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return " (" + text + "%)"
}

// brief returns a duration with three digits at most.
func brief(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func spanText(first, last time.Duration) string {
	if first == last {
		return "at " + offset(first)
	}
	return offset(first) + " to " + offset(last)
}
